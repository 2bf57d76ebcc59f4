-- Examples of data sets and files; their texts are the comments in lucerna.data.
return { title = "Data and files",
{"data.DataLoader data.TensorDataset", [=[
> local data = lucerna.data
> local set = data.TensorDataset(lucerna.randn(10, 3), lucerna.arange(10))
> local loader = data.DataLoader{set, batch_size = 4, shuffle = true}
> for x, y in loader do assert(x:size(2) == 3) end]=]},
{"data.Dataset", [=[
> local Squares = lucerna.data.Dataset("Squares")
> function Squares:__len() return 5 end
> function Squares:get(i) return lucerna.tensor(i * i) end
> assert(Squares()[3]:item() == 9)]=]},
{"data.Subset data.random_split", [=[
> local set = lucerna.data.TensorDataset(lucerna.arange(10))
> local train, test = table.unpack(lucerna.data.random_split(set, {8, 2}))]=]},
{"data.default_collate", [=[
> local batch = lucerna.data.default_collate{lucerna.ones(3), lucerna.zeros(3)}    -- [2, 3]]=]},
{"safetensors.save_file safetensors.load_file", [=[
> local path = os.tmpname()
> lucerna.safetensors.save_file({w = lucerna.ones(2)}, path)
> local tensors = lucerna.safetensors.load_file(path)
> os.remove(path)]=]},
}
