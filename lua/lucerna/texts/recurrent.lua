-- Recurrent layers and cells.
return { title = "Recurrent layers",
{"nn.RNN", [=[
h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (or relu), over a sequence and num_layers layers.
forward(input, h0): input [L, N, in] ([N, L, in] with batch_first, [L, in] unbatched) or a
PackedSequence; h0 [layers·dirs, N, H], zeros if not given. Returns output [L, N, dirs·H] and h_n.
Dropout acts on the output of every layer but the last. State: weight_ih_l0 [H, in], weight_hh_l0
[H, H], bias_ih_l0, bias_hh_l0 [H], then _l0_reverse, _l1, …; all start as U(±1/√H).
> local rnn = nn.RNN(3, 4, {num_layers = 2})
> local out, h = rnn(lucerna.randn(5, 2, 3))    -- [5, 2, 4], [2, 2, 4]]=]},
{"nn.LSTM", [=[
i, f, o = σ(…), g = tanh(…) of W x + U h + b; c' = f c + i g; h' = o tanh(c'). forward(input,
{h0, c0}): shapes as RNN's; returns output and {h_n, c_n}. The rows of the weights are i, f, g, o.
With proj_size, h' = W_hr (o tanh(c')) has proj_size elements. Hochreiter and Schmidhuber, 1997.
> local out, state = nn.LSTM(3, 4, {batch_first = true})(lucerna.randn(2, 5, 3))
> local h, c = state[1], state[2]]=]},
{"nn.GRU", [=[
r, z = σ(…) of W x + U h + b; n = tanh(W_n x + b_n + r (U_n h + c_n)); h' = (1 - z) n + z h.
Shapes as RNN's; the rows of the weights are r, z, n. Cho et al., arXiv:1406.1078.
> local out, h = nn.GRU(3, 4, {bidirectional = true})(lucerna.randn(5, 2, 3))    -- [5, 2, 8]]=]},
{"nn.RNNBase", [=[
What RNN, LSTM and GRU share: RNNBase(mode, …) with mode 'RNN_TANH', 'RNN_RELU', 'LSTM' or 'GRU'
holds the parameters.
> local m = nn.RNNBase("GRU", 3, 4)]=]},
{"nn.RNNCellBase", [=[
What the three cells share; num_chunks is the number of gates.
> local m = nn.RNNCellBase(3, 4, true, 1)]=]},
{"nn.RNNCell", [=[
One step of an RNN: forward(input [N, in] or [in], h [N, H]) -> h' [N, H]; no h means zeros. State:
weight_ih [H, in], weight_hh [H, H], bias_ih, bias_hh [H].
> local h = nn.RNNCell(3, 4)(lucerna.randn(2, 3))]=]},
{"nn.LSTMCell", [=[
One step of an LSTM: forward(input [N, in], {h, c}) -> h', c' [N, H].
> local h, c = nn.LSTMCell(3, 4)(lucerna.randn(2, 3))]=]},
{"nn.GRUCell", [=[
One step of a GRU: forward(input [N, in], h [N, H]) -> h' [N, H].
> local h = nn.GRUCell(3, 4)(lucerna.randn(2, 3))]=]},
}
