-- Trains a variational autoencoder on MNIST (Kingma and Welling, 2013) and writes a picture:
-- digits, what it makes of them, and below those digits that it made up.
--   lucerna examples/vae.lua --epochs 5 --latent 20 --out digits.png

local lucerna = require "lucerna"
local nn, optim, F, data = lucerna.nn, lucerna.optim, lucerna.nn.functional, lucerna.data
local progress = require "lucerna.progress"

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local options = dofile(here .. "/shared/options.lua") {epochs = 3, ["batch-size"] = 128, lr = 0.001,
  hidden = 400, latent = 20, out = "digits.png", data = here .. "/data/mnist", seed = 1,
  threads = 0}

-- ---- the net ----

local VAE = nn.class("VAE")

function VAE:__init(hidden, latent)
  self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU())
  self.mu = nn.Linear(hidden, latent)
  self.logvar = nn.Linear(hidden, latent)
  self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 784))
end

-- Images [N, 1, 28, 28] -> logits of their pixels [N, 784], and the normal distributions [N,
-- latent] that codes are drawn from: by mu + sigma * noise, so that gradients pass.
function VAE:forward(x)
  local h = self.encoder(x)
  local mu, logvar = self.mu(h), self.logvar(h)
  local code = mu
  if self.training then code = mu + (0.5 * logvar):exp() * lucerna.randn_like(mu) end
  return self.decoder(code), mu, logvar
end

-- What it costs to describe an image: its pixels, given the code, and the code itself.
local function loss_of(net, x)
  local logits, mu, logvar = net(x)
  local pixels = F.binary_cross_entropy_with_logits(logits, x:flatten(2), {reduction = "sum"})
  local codes = -0.5 * (1 + logvar - mu ^ 2 - logvar:exp()):sum()
  return (pixels + codes) / #x
end

-- ---- training and showing ----

local function train(net, loader, adam, label)
  net:train()
  local bar <close> = progress(#loader, {label = label})
  local total, count = 0, 0
  for x in loader do
    adam:zero_grad()
    local loss = loss_of(net, x)
    loss:backward()
    adam:step()
    total, count = total + loss:item(), count + 1
    bar:update(1, ("loss %.2f"):format(total / count))
  end
  return total / count
end

local function test(net, loader)
  net:eval()
  local _ <close> = lucerna.no_grad()
  local total, count = 0, 0
  for x in loader do total, count = total + loss_of(net, x):item() * #x, count + #x end
  return total / count
end

local function show(net, set, path)
  net:eval()
  local _ <close> = lucerna.no_grad()
  local x = set:get_batch(lucerna.arange(1, 17))
  local again = net(x):sigmoid()
  local made = net.decoder(lucerna.randn(96, options.latent)):sigmoid()
  local images = lucerna.cat {x:flatten(2), again, made}
  data.save_image(images:view(-1, 1, 28, 28), path, {nrow = 16, padding = 1})
end

-- ---- the run ----

lucerna.manual_seed(options.seed)
if options.threads > 0 then lucerna.set_num_threads(options.threads) end

local train_set = data.MNIST {root = options.data, train = true}
local test_set = data.MNIST {root = options.data, train = false}
local train_loader = data.DataLoader {train_set, batch_size = options["batch-size"], shuffle = true}
local test_loader = data.DataLoader {test_set, batch_size = 500}

local net = VAE(options.hidden, options.latent)
print(net)
local adam = optim.Adam(net:parameters(), {lr = options.lr})
print("\nepoch  train loss  test loss  seconds")
for epoch = 1, options.epochs do
  local started = lucerna.clock()
  local train_loss = train(net, train_loader, adam, "epoch " .. epoch)
  print(("%5d  %10.2f  %9.2f  %7.1f"):format(epoch, train_loss, test(net, test_loader),
    lucerna.clock() - started))
end
show(net, test_set, options.out)
print(("\n%s: two rows of digits and what it makes of them, six rows that it made up")
  :format(options.out))
