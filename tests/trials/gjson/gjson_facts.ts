/** Results of GJSON v1.14.1 for Go, the version that Katib uses; recorded from runs. */

/** Documents, with their keys sorted, as by Go's encoder in Katib. */
export const DOCUMENTS = {
  "trainJob": {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {
      "name": "t",
      "labels": {
        "app.kubernetes.io/name": "x",
        "b": "2",
        "a": "1",
      },
    },
    "status": {
      "conditions": [
        {
          "type": "Suspended",
          "status": "False",
          "reason": "Resumed",
          "message": "resumed",
        },
        {
          "type": "Complete",
          "status": "True",
          "reason": "JobsCompleted",
          "message": "jobset completed",
        },
        {
          "type": "Failed",
          "status": "False",
          "reason": "",
          "message": "",
        },
      ],
      "jobsStatus": [
        {
          "name": "node",
          "ready": 1,
          "active": 0,
        },
        {
          "name": "model-initializer",
          "ready": 0,
          "active": 2,
        },
      ],
      "phase": "Succeeded",
      "succeeded": 1,
      "ratio": 0.5,
      "done": true,
      "lost": null,
    },
  },
  "lists": {
    "words": [
      "Sara",
      "Alex",
      "Jack",
    ],
    "numbers": [
      3,
      1,
      2,
      10,
    ],
    "mixed": [
      1,
      "1",
      true,
      false,
      null,
      [],
      {},
    ],
    "nested": [
      [
        1,
        2,
      ],
      [
        3,
        [
          4,
        ],
      ],
      [],
      5,
    ],
    "empty": [],
    "none": {},
    "friends": [
      {
        "first": "Dale",
        "last": "Murphy",
        "age": 44,
        "nets": [
          "ig",
          "fb",
        ],
        "pet": {
          "name": "Rex",
        },
      },
      {
        "first": "Roger",
        "last": "Craig",
        "age": 68,
        "nets": [
          "fb",
          "tw",
        ],
      },
      {
        "first": "Jane",
        "last": "Murphy",
        "age": 47,
        "nets": [
          "ig",
          "tw",
        ],
        "left": true,
      },
    ],
    "columns": {
      "id": [
        1,
        2,
      ],
      "name": [
        "x",
        "y",
        "z",
      ],
      "note": 7,
    },
    "fav.movie": "Deer Hunter",
    "st*r": "literal",
    "star": "other",
    'quo"te': "q",
    "text": '{"a":[1,2]}',
    "unicode": "zéß😀",
    "quotes": [
      'a"b',
      "a\\b",
      "f|b",
    ],
    "truths": [
      "t",
      "T",
      "1",
      "True",
      "yes",
      "0",
      "",
    ],
    "points": [
      "�",
      "😀",
      "z",
    ],
  },
} as const;

/** A path into a document, and the compact JSON of its result, if there is any. */
export interface Fact {
  readonly document: keyof typeof DOCUMENTS;
  readonly path: string;
  readonly finds?: string;
}

/** By a sentence each. */
export const FACTS: Readonly<Record<string, Fact>> = {
  "Katib's default for success of a TrainJob": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Complete")#|#(status=="True")#',
    finds:
      '[{"message":"jobset completed","reason":"JobsCompleted","status":"True","type":"Complete"}]',
  },
  "Katib's default for failure, whose condition is False": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Failed")#|#(status=="True")#',
    finds: "[]",
  },
  "Tekton's failure": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Failed")#|#(status=="False")#',
    finds: '[{"message":"","reason":"","status":"False","type":"Failed"}]',
  },
  "a default for a type that is not there": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Succeeded")#|#(status=="True")#',
    finds: "[]",
  },
  "Argo's way to ask an object: made an array of one": {
    document: "trainJob",
    path: 'status.[@this].#(phase=="Succeeded")#',
    finds:
      '[{"conditions":[{"message":"resumed","reason":"Resumed","status":"False","type":"Suspended"},{"message":"jobset completed","reason":"JobsCompleted","status":"True","type":"Complete"},{"message":"","reason":"","status":"False","type":"Failed"}],"done":true,"jobsStatus":[{"active":0,"name":"node","ready":1},{"active":2,"name":"model-initializer","ready":0}],"lost":null,"phase":"Succeeded","ratio":0.5,"succeeded":1}]',
  },
  "the same without all matches": {
    document: "trainJob",
    path: "status.[@this].#(succeeded==1)",
    finds:
      '{"conditions":[{"message":"resumed","reason":"Resumed","status":"False","type":"Suspended"},{"message":"jobset completed","reason":"JobsCompleted","status":"True","type":"Complete"},{"message":"","reason":"","status":"False","type":"Failed"}],"done":true,"jobsStatus":[{"active":0,"name":"node","ready":1},{"active":2,"name":"model-initializer","ready":0}],"lost":null,"phase":"Succeeded","ratio":0.5,"succeeded":1}',
  },
  "the same not met": { document: "trainJob", path: "status.[@this].#(succeeded==2)" },
  "a dot instead of the pipe asks each match by itself": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Complete")#.#(status=="True")#',
    finds: "[]",
  },
  "the first match alone": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Complete")',
    finds:
      '{"message":"jobset completed","reason":"JobsCompleted","status":"True","type":"Complete"}',
  },
  "the first match and a member of it": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Complete").reason',
    finds: '"JobsCompleted"',
  },
  "a scalar": { document: "trainJob", path: "status.phase", finds: '"Succeeded"' },
  "null is there": { document: "trainJob", path: "status.lost", finds: "null" },
  "a missing member": { document: "trainJob", path: "status.nothing" },
  "a path through a scalar": { document: "trainJob", path: "status.phase.x" },
  "a path through a missing member, piped on": { document: "trainJob", path: "status.nothing|x" },
  "spaces around the operator": {
    document: "trainJob",
    path: 'status.conditions.#( type == "Complete" )#',
    finds:
      '[{"message":"jobset completed","reason":"JobsCompleted","status":"True","type":"Complete"}]',
  },
  "one equals sign": {
    document: "trainJob",
    path: 'status.conditions.#(type="Complete")#.status',
    finds: '["True"]',
  },
  "a value without quotes": {
    document: "trainJob",
    path: "status.conditions.#(type==Complete)#.status",
    finds: '["True"]',
  },
  "unequal": {
    document: "trainJob",
    path: 'status.conditions.#(status!="True")#.type',
    finds: '["Suspended","Failed"]',
  },
  "like": {
    document: "trainJob",
    path: 'status.conditions.#(type%"*e*")#.type',
    finds: '["Suspended","Complete","Failed"]',
  },
  "not like": {
    document: "trainJob",
    path: 'status.conditions.#(type!%"*d")#.type',
    finds: '["Complete"]',
  },
  "like with a question mark": {
    document: "trainJob",
    path: 'status.conditions.#(type%"?ailed").type',
    finds: '"Failed"',
  },
  "texts compare by their bytes": {
    document: "trainJob",
    path: 'status.conditions.#(type>"Complete")#.type',
    finds: '["Suspended","Failed"]',
  },
  "an empty text": {
    document: "trainJob",
    path: 'status.conditions.#(reason=="")#.type',
    finds: '["Failed"]',
  },
  "existence of a member": {
    document: "trainJob",
    path: "status.jobsStatus.#(ready)#.name",
    finds: '["node","model-initializer"]',
  },
  "a query with [ ] as older versions had it": {
    document: "trainJob",
    path: 'status.conditions.#[type=="Complete"]#.status',
    finds: '["True"]',
  },
  "escaped dots in a key": {
    document: "trainJob",
    path: "metadata.labels.app\\.kubernetes\\.io/name",
    finds: '"x"',
  },
  "a line break after the query, as a block of YAML leaves one": {
    document: "trainJob",
    path: 'status.conditions.#(type=="Complete")#|#(status=="True")#\n',
    finds:
      '[{"message":"jobset completed","reason":"JobsCompleted","status":"True","type":"Complete"}]',
  },
  "a list of two conditions joined": {
    document: "trainJob",
    path: '[status.conditions.#(type=="Complete"),status.conditions.#(type=="Nope")]',
    finds:
      '[{"message":"jobset completed","reason":"JobsCompleted","status":"True","type":"Complete"}]',
  },
  "an object of paths with names": {
    document: "trainJob",
    path: '{"reason":status.phase,"message":status.conditions.#.type|0}',
    finds: '{"reason":"Succeeded","message":"Suspended"}',
  },
  "an object of paths named by their last component": {
    document: "trainJob",
    path: "{status.phase,status.conditions.#}",
    finds: '{"phase":"Succeeded","_":3}',
  },
  "an object of nothing but what is missing": {
    document: "trainJob",
    path: "{status.x,status.y}",
    finds: "{}",
  },
  "keys of an object stand sorted, as Go writes them": {
    document: "trainJob",
    path: "metadata.labels.@keys",
    finds: '["a","app.kubernetes.io/name","b"]',
  },
  "the first key that fits a wildcard": {
    document: "trainJob",
    path: "metadata.labels.*",
    finds: '"1"',
  },
  "number of elements": { document: "lists", path: "words.#", finds: "3" },
  "number of elements of nothing": { document: "lists", path: "empty.#", finds: "0" },
  "an index": { document: "lists", path: "words.1", finds: '"Alex"' },
  "an index with a zero before it": { document: "lists", path: "words.01", finds: '"Alex"' },
  "an index behind the end": { document: "lists", path: "words.3" },
  "a negative index": { document: "lists", path: "words.-1" },
  "an index of an object": { document: "lists", path: "none.0" },
  "a member of each element that has it": {
    document: "lists",
    path: "friends.#.pet.name",
    finds: '["Rex"]',
  },
  "a member of each element, then an index of each": {
    document: "lists",
    path: "friends.#.nets.0",
    finds: '["ig","fb","ig"]',
  },
  "a member of each element, then an index of the list": {
    document: "lists",
    path: "friends.#.nets|0",
    finds: '["ig","fb"]',
  },
  "an index of each match": {
    document: "lists",
    path: 'friends.#(last=="Murphy")#.0',
    finds: "[]",
  },
  "an index of the matches": {
    document: "lists",
    path: 'friends.#(last=="Murphy")#|0.first',
    finds: '"Dale"',
  },
  "number of each match": { document: "lists", path: 'friends.#(last=="Murphy")#.#', finds: "[]" },
  "number of the matches": { document: "lists", path: 'friends.#(last=="Murphy")#|#', finds: "2" },
  "a member of the matches, which are a list": {
    document: "lists",
    path: 'friends.#(last=="Murphy")#|first',
  },
  "no match": { document: "lists", path: 'friends.#(last=="X")' },
  "no match of all": { document: "lists", path: 'friends.#(last=="X")#', finds: "[]" },
  "no match of all, and a member of each": {
    document: "lists",
    path: 'friends.#(last=="X")#.first',
    finds: "[]",
  },
  "no match of all in an empty list": { document: "lists", path: "empty.#(a==1)#", finds: "[]" },
  "a query inside a query": {
    document: "lists",
    path: 'friends.#(nets.#(=="fb"))#.first',
    finds: '["Dale","Roger"]',
  },
  "elements that are scalars": {
    document: "lists",
    path: 'words.#(%"*a*")#',
    finds: '["Sara","Jack"]',
  },
  "elements that are scalars, not like": {
    document: "lists",
    path: 'words.#(!%"*a*")',
    finds: '"Alex"',
  },
  "numbers greater": { document: "lists", path: "numbers.#(>2)#", finds: "[3,10]" },
  "numbers greater or equal": { document: "lists", path: "numbers.#(>=2)#", finds: "[3,2,10]" },
  "numbers less": { document: "lists", path: "numbers.#(<3)#", finds: "[1,2]" },
  "numbers less or equal, the first": { document: "lists", path: "numbers.#(<=2)", finds: "1" },
  "numbers unequal": { document: "lists", path: "numbers.#(!=3)#", finds: "[1,2,10]" },
  "a number compared with a text counts as 0": {
    document: "lists",
    path: 'numbers.#(>"x")#',
    finds: "[3,1,2,10]",
  },
  "a number in another notation": { document: "lists", path: "numbers.#(==1e1)#", finds: "[10]" },
  "a hexadecimal number": { document: "lists", path: "numbers.#(==0x1p1)#", finds: "[2]" },
  "a hexadecimal number with all that it may have": {
    document: "lists",
    path: "numbers.#(==+0x_1_.8p+1_0)#",
    finds: "[]",
  },
  "a hexadecimal number with a fraction": {
    document: "lists",
    path: "numbers.#(==0x1_4.0p-1)#",
    finds: "[10]",
  },
  "a number with an underscore": { document: "lists", path: "numbers.#(==1_0)#", finds: "[10]" },
  "a number that is too large": { document: "lists", path: "numbers.#(<1e400)#|#", finds: "4" },
  "a number against NaN": {
    document: "lists",
    path: "[numbers.#(==nan)#,numbers.#(!=nan)#]",
    finds: "[[],[3,1,2,10]]",
  },
  "mixed elements equal to 1": { document: "lists", path: "mixed.#(==1)#", finds: '[1,"1"]' },
  "mixed elements equal to true": { document: "lists", path: "mixed.#(==true)#", finds: "[true]" },
  "mixed elements below true": { document: "lists", path: "mixed.#(<true)#", finds: '["1",false]' },
  "mixed elements from false on": {
    document: "lists",
    path: "mixed.#(>=false)#",
    finds: "[1,true]",
  },
  "mixed elements equal to null: none is": {
    document: "lists",
    path: "mixed.#(==null)#",
    finds: "[]",
  },
  "mixed elements unequal to x: null, arrays and objects are not": {
    document: "lists",
    path: "mixed.#(!=x)#",
    finds: '[1,"1",true,false]',
  },
  "mixed elements taken for true": {
    document: "lists",
    path: "mixed.#(==~true)#",
    finds: '[1,"1",true]',
  },
  "mixed elements taken for false": {
    document: "lists",
    path: "mixed.#(==~false)#",
    finds: "[false,null,[],{}]",
  },
  "members taken for true": {
    document: "lists",
    path: "friends.#(left==~true)#.first",
    finds: '["Jane"]',
  },
  "members taken for false, the missing ones with them": {
    document: "lists",
    path: "friends.#(left==~false)#.first",
    finds: '["Dale","Roger"]',
  },
  "an escaped dot": { document: "lists", path: "fav\\.movie", finds: '"Deer Hunter"' },
  "an escaped dot and a modifier after a dot: found nothing": {
    document: "lists",
    path: "fav\\.movie.@this",
  },
  "an escaped dot and a modifier after a pipe": {
    document: "lists",
    path: "fav\\.movie|@this",
    finds: '"Deer Hunter"',
  },
  "an escaped star": { document: "lists", path: "st\\*r", finds: '"literal"' },
  "a star in a key": { document: "lists", path: "st*r", finds: '"literal"' },
  "a star that is met twice, looked into until something is found": {
    document: "lists",
    path: "*.0",
    finds: '{"age":44,"first":"Dale","last":"Murphy","nets":["ig","fb"],"pet":{"name":"Rex"}}',
  },
  "a question mark in a key": { document: "lists", path: "w?rds.0", finds: '"Sara"' },
  "a quote in a key": { document: "lists", path: 'quo"te', finds: '"q"' },
  "@reverse of an array": {
    document: "lists",
    path: "words.@reverse",
    finds: '["Jack","Alex","Sara"]',
  },
  "@reverse of an object": {
    document: "lists",
    path: "columns.@reverse",
    finds: '{"note":7,"name":["x","y","z"],"id":[1,2]}',
  },
  "@flatten": { document: "lists", path: "nested.@flatten", finds: "[1,2,3,[4],5]" },
  "@flatten to the ground": {
    document: "lists",
    path: 'nested.@flatten:{"deep":true}',
    finds: "[1,2,3,4,5]",
  },
  "@flatten of an object": { document: "lists", path: "none.@flatten", finds: "{}" },
  "@join": { document: "lists", path: "friends.@join.first", finds: '"Jane"' },
  "@join with all kept": {
    document: "lists",
    path: 'friends.@join:{"preserve":true}.@keys.#',
    finds: "14",
  },
  "@values of an object": {
    document: "lists",
    path: "columns.@values",
    finds: '[[1,2],["x","y","z"],7]',
  },
  "@values of an array": { document: "lists", path: "numbers.@values", finds: "[3,1,2,10]" },
  "@values of a scalar": { document: "lists", path: "star.@values", finds: '["other"]' },
  "@keys of an array": { document: "lists", path: "words.@keys", finds: "[null,null,null]" },
  "@keys of what is missing is a list": { document: "lists", path: "missing|@keys", finds: "[]" },
  "@keys behind a missing object is nothing": { document: "lists", path: "missing.x|@keys" },
  "@group": {
    document: "lists",
    path: "columns.@group",
    finds: '[{"id":1,"name":"x"},{"id":2,"name":"y"},{"name":"z"}]',
  },
  "@group of an array": { document: "lists", path: "words.@group" },
  "@tostr": { document: "lists", path: "numbers.@tostr", finds: '"[3,1,2,10]"' },
  "@fromstr and on": { document: "lists", path: "text.@fromstr.a.1", finds: "2" },
  "@fromstr of a number": { document: "lists", path: "numbers.0.@fromstr", finds: "3" },
  "@ugly and @pretty": {
    document: "lists",
    path: 'none.@ugly.@pretty:{"sortKeys":true}',
    finds: "{}",
  },
  "@valid": { document: "lists", path: "words.@valid.#", finds: "3" },
  "a modifier that is not known is a key": { document: "lists", path: "words.@nope" },
  "a modifier first": { document: "lists", path: "@this.words.#", finds: "3" },
  "a literal": { document: "lists", path: '!{"a":[1,2]}|a.1', finds: "2" },
  "a word and a modifier behind a pipe": {
    document: "lists",
    path: "!true|@this",
    finds: "true",
  },
  "a word and a modifier behind a dot": {
    document: "lists",
    path: "!false.@this",
    finds: "false",
  },
  "a word and a key behind a pipe": { document: "lists", path: "!null|a" },
  "a literal behind what is missing": { document: "lists", path: "missing.x|!true" },
  "a literal behind what a pipe asks": {
    document: "lists",
    path: 'words|!{"a":1}',
    finds: '{"a":1}',
  },
  "literals in an object": {
    document: "lists",
    path: '{"first":words.0,"company":!"Happysoft","employed":!true}',
    finds: '{"first":"Sara","company":"Happysoft","employed":true}',
  },
  "a multipath of an array": { document: "lists", path: "numbers.[0,#]", finds: "[3,4]" },
  "a multipath of each element": {
    document: "lists",
    path: "friends.#.[first,age]",
    finds: '[["Dale",44],["Roger",68],["Jane",47]]',
  },
  "a multipath of each match, one of them": {
    document: "lists",
    path: 'friends.#(age>45)#.{first,"years":age}|1',
    finds: '{"first":"Jane","years":47}',
  },
  "an empty multipath": { document: "lists", path: "[]", finds: "[]" },
  "a text by code points": { document: "lists", path: '[unicode].#(>"zé")', finds: '"zéß😀"' },
  "lines: the whole is one of them": { document: "lists", path: "..#", finds: "1" },
  "lines: a member of the whole": { document: "lists", path: "..0.words.0", finds: '"Sara"' },
  "a trailing dot": { document: "lists", path: "words." },
  "a quote in a query's text": { document: "lists", path: 'quotes.#(=="a\\"b")', finds: '"a\\"b"' },
  "a backslash in a query's text": {
    document: "lists",
    path: 'quotes.#(=="a\\\\b")',
    finds: '"a\\\\b"',
  },
  "a backslash in a query's text without quotes": {
    document: "lists",
    path: "quotes.#(==a\\b)",
    finds: '"a\\\\b"',
  },
  "a pipe in a query's text": {
    document: "lists",
    path: 'friends.#.nets.#(!="f|b")#|0',
    finds: '["ig","fb"]',
  },
  "a pipe in a path that begins with a query": { document: "lists", path: 'nested.#.#(!="a|b")#' },
  "a pipe in an object of each, and one behind it": {
    document: "lists",
    path: "friends.#.{first|@this,age}|0",
    finds: '{"@this":"Dale","age":44}',
  },
  "a modifier's argument in an object is no name": {
    document: "lists",
    path: "{numbers.@flatten:x|#}",
    finds: '{"_":4}',
  },
  "a modifier's argument at the start of a selector is its path": {
    document: "lists",
    path: "[@flatten:words]",
    finds: '[["Sara","Alex","Jack"]]',
  },
  "a name with an escaped dot": {
    document: "lists",
    path: "{fav\\.movie}",
    finds: '{"fav\\\\.movie":"Deer Hunter"}',
  },
  "a name that is not simple": {
    document: "lists",
    path: "{words.#,numbers.#(>2)}",
    finds: '{"_":3,"_":3}',
  },
  "all matches of the first of several keys": {
    document: "lists",
    path: "n*.#(>1)#",
    finds: "[5]",
  },
  "one match, of the first of several keys that has one": {
    document: "lists",
    path: "*s.#(>2)",
    finds: "3",
  },
  "a query with a path on scalars": { document: "lists", path: "mixed.#(a==1)#", finds: "[]" },
  "mixed elements above x": { document: "lists", path: "mixed.#(>x)#", finds: "[1]" },
  "texts taken for true": {
    document: "lists",
    path: "truths.#(==~true)#",
    finds: '["t","T","1","True"]',
  },
  "texts beyond the basic plane come last": {
    document: "lists",
    path: 'points.#(>"�")#',
    finds: '["😀"]',
  },
  "a question mark is a whole character": {
    document: "lists",
    path: 'points.#(%"?")#',
    finds: '["�","😀","z"]',
  },
  "@keys of a scalar": { document: "lists", path: "star.@keys", finds: "[null]" },
  "@keys of null": { document: "trainJob", path: "status.lost.@keys", finds: "[null]" },
};
