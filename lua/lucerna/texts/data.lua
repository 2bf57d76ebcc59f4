-- Examples of data sets and files; their texts are the comments in lucerna.data.
return { title = "Data and files",
{"data.DataLoader data.TensorDataset", [=[
> local data = lucerna.data
> local set = data.TensorDataset(lucerna.randn(10, 3), lucerna.arange(10))
> local loader = data.DataLoader{set, batch_size = 4, shuffle = true}
> for x, y in loader do assert(x:size(2) == 3) end
> for x, y in data.DataLoader{set, batch_size = lucerna.none} do assert(x:dim() == 1) end]=]},
{"data.Dataset", [=[
> local Squares = lucerna.data.Dataset("Squares")
> function Squares:__len() return 5 end
> function Squares:get(i) return lucerna.tensor(i * i) end
> assert(Squares()[3]:item() == 9)]=]},
{"data.Subset data.random_split", [=[
> local set = lucerna.data.TensorDataset(lucerna.arange(10))
> local train, test = table.unpack(lucerna.data.random_split(set, {8, 2}))]=]},
{"data.ConcatDataset data.StackDataset", [=[
> local data, a = lucerna.data, lucerna.data.TensorDataset(lucerna.arange(3))
> assert(#data.ConcatDataset{a, a} == 6 and #(a + a) == 6)
> local item = data.StackDataset{x = a, name = {"p", "q", "r"}}[2]    -- {x = …, name = "q"}]=]},
{"data.IterableDataset data.ChainDataset", [=[
> local Words = lucerna.data.IterableDataset("Words")
> function Words:__init(text) self.text = text end
> function Words:iter() return self.text:gmatch("%a+") end
> for batch in lucerna.data.DataLoader{Words("to be or not"), batch_size = 2} do
>   assert(#batch == 2)
> end]=]},
{"data.RandomSampler data.SequentialSampler", [=[
> local data = lucerna.data
> assert(#data.RandomSampler({5, 6, 7})() == 3)
> assert(#data.SequentialSampler({5, 6, 7})() == 3)]=]},
{"data.SubsetRandomSampler", [=[
> local order = lucerna.data.SubsetRandomSampler({2, 4, 6})()    -- 6 2 4, perhaps]=]},
{"data.DistributedSampler", [=[
> local first = lucerna.data.DistributedSampler({5, 6, 7}, 2, 0, {shuffle = false})
> assert(#first == 2 and first()[2]:item() == 3)    -- positions 1 and 3; the other has 2 and 1]=]},
{"data.WeightedRandomSampler", [=[
> local data = lucerna.data
> local set = data.TensorDataset(lucerna.arange(4))
> local sampler = data.WeightedRandomSampler({1, 1, 1, 3}, 6)    -- item 4 half of the time
> for x in data.DataLoader{set, batch_size = 2, sampler = sampler} do assert(#x == 2) end]=]},
{"data.BatchSampler data.Sampler", [=[
> local Even = lucerna.data.Sampler("Even")
> function Even:__len() return 2 end
> function Even:positions() return {2, 4} end
> local batches = lucerna.data.BatchSampler(Even(), 2, false)()    -- {{2, 4}}]=]},
{"data.default_collate", [=[
> local batch = lucerna.data.default_collate{lucerna.ones(3), lucerna.zeros(3)}    -- [2, 3]]=]},
{"data.write_png data.read_image", [=[
> local path = os.tmpname()
> lucerna.data.write_png(lucerna.rand(3, 8, 8), path)
> local image = lucerna.data.read_image(path, "gray")    -- [1, 8, 8] uint8
> os.remove(path)]=]},
{"data.encode_png data.decode_png", [=[
> local text = lucerna.data.encode_png(lucerna.rand(3, 8, 8))
> assert(lucerna.data.decode_png(text):size(1) == 3)]=]},
{"data.make_grid data.save_image", [=[
> local grid = lucerna.data.make_grid(lucerna.rand(6, 3, 8, 8), {nrow = 3})    -- [3, 22, 32]]=]},
{"data.read_csv data.write_csv", [=[
> local x, names = lucerna.data.read_csv{bytes = "a,b\n1,2\n3,4\n", header = true}
> assert(x[2][1]:item() == 3 and names[2] == "b")]=]},
{"numpy.save numpy.load", [=[
> local path = os.tmpname()
> lucerna.numpy.save(path, lucerna.arange(6):reshape(2, 3))
> assert(lucerna.numpy.load(path)[2][1]:item() == 3)
> os.remove(path)]=]},
{"numpy.savez numpy.savez_compressed", [=[
> local path = os.tmpname()
> lucerna.numpy.savez(path, {w = lucerna.ones(2), b = lucerna.zeros(1)})
> assert(lucerna.numpy.load(path).w:size(1) == 2)
> os.remove(path)]=]},
{"safetensors.safe_open", [=[
> local path = os.tmpname()
> lucerna.safetensors.save_file({w = lucerna.arange(12):reshape(3, 4)}, path)
> local f <close> = lucerna.safetensors.safe_open(path)
> local column = f:get_slice("w")[{{}, 2}]    -- 1 5 9; the rest is not read
> os.remove(path)]=]},
{"safetensors.save safetensors.load", [=[
> local text = lucerna.safetensors.save({w = lucerna.ones(2)})
> assert(lucerna.safetensors.load(text).w:size(1) == 2)]=]},
{"safetensors.save_model safetensors.load_model", [=[
> local net, path = nn.Linear(2, 3), os.tmpname()
> lucerna.safetensors.save_model(net, path)
> lucerna.safetensors.load_model(nn.Linear(2, 3), path)
> os.remove(path)]=]},
{"safetensors.save_file safetensors.load_file", [=[
> local path = os.tmpname()
> lucerna.safetensors.save_file({w = lucerna.ones(2)}, path)
> local tensors = lucerna.safetensors.load_file(path)
> os.remove(path)]=]},
}
