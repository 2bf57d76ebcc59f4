-- Embeddings.
return { title = "Embeddings",
{"nn.Embedding F.embedding", [=[
Rows of a table: ids [*] (from 1 to num_embeddings) -> [*, embedding_dim]. The row padding_idx
starts at zero and gets no gradient; max_norm rescales the rows that are used, in place. State:
weight [num_embeddings, embedding_dim], N(0, 1). Refused: ids out of range.
> local y = nn.Embedding(10, 3)(lucerna.tensor{{1, 2}, {10, 9}})    -- [2, 2, 3]]=]},
{"nn.EmbeddingBag F.embedding_bag", [=[
Sums, means or maxima (mode) of the rows of bags of ids: [B, n], or a flat [n] with offsets [B], the
positions at which the bags begin, from 1. An empty bag gives zeros. per_sample_weights only with
mode 'sum'; padding_idx is left out, also of the count.
> local bag = nn.EmbeddingBag(10, 3, {mode = "sum"})
> local y = bag(lucerna.tensor{1, 2, 4, 5}, lucerna.tensor{1, 3})    -- [2, 3]]=]},
{"F.one_hot", [=[
int64 [*] of classes from 1 -> int64 [*, num_classes]; num_classes = -1 takes the largest.
> local y = F.one_hot(lucerna.tensor{1, 3}, {num_classes = 4})]=]},
}
