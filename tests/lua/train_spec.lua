-- Whole training runs beside PyTorch's: the programs of tests/parity/gen_train.py in Lua, with the
-- same seed, give the same losses step by step.

local lucerna = require "lucerna"
local parity = require "parity"
local models = require "lucerna.models"
local nn, optim, F = lucerna.nn, lucerna.optim, lucerna.nn.functional
local recorded = parity.load "train"

local STEPS, SEED = 10, 8
local runs = {}

function runs.resnet(losses)
  local net = models.resnet18 {num_classes = 10}
  local sgd = optim.SGD(net:parameters(), {lr = 0.01, momentum = 0.9, weight_decay = 1e-4})
  local x, target = lucerna.randn(6, 3, 48, 48), lucerna.randint(10, {6}) + 1
  for _ = 1, 3 do
    sgd:zero_grad()
    local loss = F.cross_entropy(net(x), target)
    loss:backward()
    sgd:step()
    losses[#losses + 1] = loss:item()
  end
end

-- ---- a language model ----

local LanguageModel = nn.class("LanguageModel")

function LanguageModel:__init(vocab, width, hidden)
  self.embed = nn.Embedding(vocab, width)
  self.lstm = nn.LSTM(width, hidden, {num_layers = 2, batch_first = true})
  self.head = nn.Linear(hidden, vocab)
end

function LanguageModel:forward(ids, state)
  local out
  out, state = self.lstm(self.embed(ids), state)
  return self.head(out), state
end

function runs.lstm(losses)
  local net, state = LanguageModel(20, 16, 24), nil
  local adam = optim.Adam(net:parameters(), {lr = 0.01})
  local text = lucerna.randint(20, {4, 8 * STEPS + 1}) + 1
  for k = 1, STEPS do
    local part = text:narrow(2, 8 * k - 7, 9)
    local logits
    logits, state = net(part[{{}, {1, -2}}], state)
    state = {state[1]:detach(), state[2]:detach()}
    local loss = F.cross_entropy(logits:flatten(1, 2), part[{{}, {2, -1}}]:flatten())
    adam:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(net:parameters(), 0.25)
    adam:step()
    losses[k] = loss:item()
  end
end

-- ---- a transformer ----

local Translator = nn.class("Translator")

function Translator:__init(vocab, width, dropout)
  self.embed = nn.Embedding(vocab, width)
  self.position = nn.Parameter(lucerna.randn(12, 1, width) * 0.1)
  self.transformer = nn.Transformer(width, 2, 2, 2, 32, dropout)
  self.head = nn.Linear(width, vocab)
end

function Translator:read(ids) return self.embed(ids) + self.position[{{1, #ids}}] end

function Translator:forward(source, target)
  local mask = nn.Transformer.generate_square_subsequent_mask(#target)
  local padding = source:eq(1):t()
  return self.head(self.transformer(self:read(source), self:read(target), {tgt_mask = mask,
    src_key_padding_mask = padding, memory_key_padding_mask = padding}))
end

-- Learns to turn sequences [T, N] round. Id 1 fills up.
function runs.transformer(losses)
  local net = Translator(12, 16, 0.1)
  local adam = optim.AdamW(net:parameters(), {lr = 0.01})
  for k = 1, STEPS do
    local source = lucerna.randint(1, 12, {8, 6}) + 1
    source[{{7, 8}, {1, -1, 2}}] = 1
    local target = source:flip(1)
    local logits = net(source, target[{{1, -2}}])
    local loss = F.cross_entropy(logits:transpose(2, 3), target[{{2, -1}}], {ignore_index = 1})
    adam:zero_grad()
    loss:backward()
    adam:step()
    losses[k] = loss:item()
  end
end

-- ---- a variational autoencoder ----

local VAE = nn.class("VAE")

function VAE:__init()
  self.fc1 = nn.Linear(64, 32)
  self.fc21 = nn.Linear(32, 4)
  self.fc22 = nn.Linear(32, 4)
  self.fc3 = nn.Linear(4, 32)
  self.fc4 = nn.Linear(32, 64)
end

function VAE:forward(x)
  local h = F.relu(self.fc1(x))
  local mu, logvar = self.fc21(h), self.fc22(h)
  local z = mu + (0.5 * logvar):exp() * lucerna.randn_like(mu)
  return self.fc4(F.relu(self.fc3(z))):sigmoid(), mu, logvar
end

function runs.vae(losses)
  local net = VAE()
  local adam = optim.Adam(net:parameters(), {lr = 1e-2})
  local data = lucerna.rand(STEPS, 16, 64)
  for k = 1, STEPS do
    local x = data[k]
    local recon, mu, logvar = net(x)
    local bce = F.binary_cross_entropy(recon, x, {reduction = "sum"})
    local kld = -0.5 * (1 + logvar - mu ^ 2 - logvar:exp()):sum()
    local loss = (bce + kld) / #x
    adam:zero_grad()
    loss:backward()
    adam:step()
    losses[k] = loss:item()
  end
end

-- ---- a generator and a discriminator ----

local function make_generator()
  local plain = {bias = false}
  return nn.Sequential(
    nn.ConvTranspose2d(8, 16, 4, 1, 0, plain), nn.BatchNorm2d(16), nn.ReLU(true),
    nn.ConvTranspose2d(16, 8, 4, 2, 1, plain), nn.BatchNorm2d(8), nn.ReLU(true),
    nn.ConvTranspose2d(8, 1, 4, 2, 1, plain), nn.Tanh())
end

local function make_discriminator()
  local plain = {bias = false}
  return nn.Sequential(
    nn.Conv2d(1, 8, 4, 2, 1, plain), nn.LeakyReLU(0.2, true),
    nn.Conv2d(8, 16, 4, 2, 1, plain), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, true),
    nn.Conv2d(16, 1, 4, 1, 0, plain), nn.Sigmoid(), nn.Flatten(1))
end

local function weights_init(m)
  if nn.isinstance(m, nn.Conv2d) or nn.isinstance(m, nn.ConvTranspose2d) then
    nn.init.normal_(m.weight, 0, 0.1)
  elseif nn.isinstance(m, nn.BatchNorm2d) then
    nn.init.normal_(m.weight, 1, 0.02)
    nn.init.zeros_(m.bias)
  end
end

function runs.dcgan(losses)
  local g, d = make_generator():apply(weights_init), make_discriminator():apply(weights_init)
  local adam_g = optim.Adam(g:parameters(), {lr = 2e-3, betas = {0.5, 0.999}})
  local adam_d = optim.Adam(d:parameters(), {lr = 2e-3, betas = {0.5, 0.999}})
  local bce, real, fake = nn.BCELoss(), lucerna.ones(8), lucerna.zeros(8)
  for _ = 1, STEPS do
    local x, noise = lucerna.rand(8, 1, 16, 16) * 2 - 1, lucerna.randn(8, 8, 1, 1)
    adam_d:zero_grad()
    local made = g(noise)
    local loss_d = bce(d(x), real) + bce(d(made:detach()), fake)
    loss_d:backward()
    adam_d:step()
    adam_g:zero_grad()
    local loss_g = bce(d(made), real)
    loss_g:backward()
    adam_g:step()
    losses[#losses + 1], losses[#losses + 2] = loss_d:item(), loss_g:item()
  end
end

describe("training gives PyTorch's losses:", function()
  for _, case in ipairs {
    {"resnet", "ResNet-18 with SGD #slow"}, {"lstm", "an LSTM language model"},
    {"transformer", "a Transformer with padding and dropout"},
    {"vae", "a variational autoencoder"}, {"dcgan", "a DCGAN with two optimizers"},
  } do
    local name, title = case[1], case[2]
    it(title, function()
      local losses = {}
      lucerna.manual_seed(SEED)
      runs[name](losses)
      assert.equal(#recorded[name], #losses)
      for k, want in ipairs(recorded[name]) do
        assert.is_near(want, losses[k], 1e-4 * math.max(1, want), "loss " .. k)
      end
    end)
  end
end)
