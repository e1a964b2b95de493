// F#'s own data (lists, maps, options, unions, records, async), an index of texts by Lucene, trees of JSON.
module Trees.Program

open System
open System.Collections.Generic
open System.Text.Json.Nodes
open System.Threading
open System.Threading.Tasks
open Apps
open Lucene.Net.Analysis.Standard
open Lucene.Net.Documents
open Lucene.Net.Index
open Lucene.Net.Search
open Lucene.Net.Store
open Lucene.Net.Util
open Newtonsoft.Json.Linq

type Shape =
    | Circle of radius: float
    | Square of side: int * name: string
    | Group of Shape list
    | Nothing

type Person = { Name: string; Age: int; Friends: Person list; Email: string option }

type Kept() =
    static member val Numbers: int list = [] with get, set
    static member val Words: string list = [] with get, set
    static member val Map: Map<string, int> = Map.empty with get, set
    static member val Set: Set<int> = Set.empty with get, set
    static member val Shapes: Shape array = [||] with get, set
    static member val People: Person array = [||] with get, set
    static member val Options: int option array = [||] with get, set
    static member val Gate: TaskCompletionSource<int> = TaskCompletionSource<int>() with get, set
    static member val Tasks: List<Task<int>> = List() with get, set
    static member val Directory: RAMDirectory = null with get, set
    static member val Reader: IndexReader = null with get, set
    static member val Tree: JsonNode = null with get, set
    static member val Linq: JObject = null with get, set

let rec depth n = if n = 0 then Nothing else Group [ Circle(float n / 2.0); Square(n, "side " + string n); depth (n - 1) ]

let index () =
    let directory = new RAMDirectory()
    let analyzer = new StandardAnalyzer(LuceneVersion.LUCENE_48)
    let writer = new IndexWriter(directory, IndexWriterConfig(LuceneVersion.LUCENE_48, analyzer))
    for i in 0..1999 do
        let d = Document()
        d.Add(new TextField("body", sprintf "word%d common text number %d" (i % 100) i, Field.Store.YES))
        d.Add(new StringField("id", string i, Field.Store.YES))
        writer.AddDocument d
    writer.Commit()
    Kept.Directory <- directory
    Kept.Reader <- DirectoryReader.Open directory

let search (seed: int) =
    let random = Random seed
    let searcher = IndexSearcher Kept.Reader
    while true do
        let hits = searcher.Search(TermQuery(Term("body", "word" + string (random.Next 100))), 10)
        if hits.TotalHits <> 20 then failwith "hits"
        let s = Kept.Tree.ToJsonString()
        if s.Length = 0 then failwith "json"

[<EntryPoint>]
let main args =
    Kept.Numbers <- [ 1..500 ]
    Kept.Words <- List.map (fun i -> "word " + string i) [ 1..100 ]
    Kept.Map <- Map.ofList [ for i in 0..199 -> "key " + string i, i * i ]
    Kept.Set <- Set.ofList [ for i in 0..99 -> (i * 37) % 101 ]
    Kept.Shapes <- [| for i in 0..20 -> depth i |]
    let mutable last = []
    Kept.People <-
        [| for i in 0..99 ->
               let p = { Name = "person " + string i; Age = i; Friends = List.truncate 3 last; Email = if i % 2 = 0 then Some(sprintf "p%d@example.org" i) else None }
               last <- p :: last
               p |]
    Kept.Options <- [| for i in 0..9 -> if i % 3 = 0 then None else Some i |]
    for i in 0..19 do
        Kept.Tasks.Add(Async.StartAsTask(async {
            let text = "async text " + string i
            let! n = Async.AwaitTask Kept.Gate.Task
            return n + text.Length }))
        let worker = task {
            let text = "task text " + string i
            let! n = Kept.Gate.Task
            return n + text.Length }
        Kept.Tasks.Add worker
    index ()
    let json = JsonObject()
    for i in 0..299 do
        json.Add("node " + string i, JsonArray(JsonValue.Create i, JsonValue.Create("text " + string i), JsonObject([ KeyValuePair("x", (JsonValue.Create(float i) :> JsonNode)) ])))
    Kept.Tree <- json
    Kept.Linq <- JObject.Parse(json.ToJsonString())
    for i in 0..3 do
        Thread((fun () -> search i), Name = "search-" + string i, IsBackground = true).Start()
    Thread.Sleep 2000
    GC.Collect()
    GC.WaitForPendingFinalizers()
    GC.Collect()

    let count (n: int) (sql: string) what = Facts.One("objects", what, sql, box n)
    let rec circles s = match s with Circle _ -> 1 | Group l -> List.sumBy circles l | _ -> 0
    count (Array.sumBy circles Kept.Shapes) "SELECT count(*) FROM objects WHERE type_name = 'Trees.Program+Shape+Circle' AND is_reachable" "cases of a union"
    count 100 "SELECT count(*) FROM objects WHERE type_name = 'Trees.Program+Person' AND is_reachable" "records"
    let cells =
        sprintf "SELECT count(*) FROM reachable_from(%s) AS r JOIN types AS t ON t.address = r.type WHERE t.name = 'Microsoft.FSharp.Collections.FSharpList<System.Int32>'" (Facts.Object Kept.Numbers)
    Facts.One("reachable_from", "a list's cells by graph", cells, box 501)
    Facts.Kept("person 7", Kept.People[7])
    Facts.Kept("person 8", Kept.People[8])
    Facts.Kept("first cell", Kept.Words)
    Facts.Kept("map", Kept.Map)
    Facts.Elements("people", Kept.People)
    Facts.Elements("options", Kept.Options)
    Facts.Elements("shapes", Kept.Shapes)
    Facts.Elements("tasks", Kept.Tasks)
    Facts.One("strings", "texts in a map's keys", "SELECT count(DISTINCT value) FROM strings WHERE value LIKE 'key _%'", box 200)
    Facts.One("strings", "what async code holds", "SELECT count(*) FROM strings AS s JOIN objects AS o ON o.address = s.object WHERE (s.value LIKE 'async text _%' OR s.value LIKE 'task text _%') AND o.is_reachable", box 40)
    Facts.Has("objects", "nodes of the JSON trees", "SELECT type_name, count(*) FROM objects WHERE is_reachable AND type_name IN ('System.Text.Json.Nodes.JsonArray', 'Newtonsoft.Json.Linq.JArray', 'Newtonsoft.Json.Linq.JProperty', 'Newtonsoft.Json.Linq.JObject') GROUP BY type_name",
              [| box "System.Text.Json.Nodes.JsonArray"; box 300 |], [| box "Newtonsoft.Json.Linq.JArray"; box 300 |], [| box "Newtonsoft.Json.Linq.JObject"; box 301 |], [| box "Newtonsoft.Json.Linq.JProperty"; box 600 |])
    Facts.Statics(typeof<Kept>)
    Facts.Ready args[0]
    Facts.Wait()
    0
