import { expect, test } from 'bun:test'
import { repairJson } from './json-repair.ts'
import { JsonRepairer } from './json-repairer.ts'

const repaired: [text: string, value: unknown][] = [
  ['{"a": 1,}', { a: 1 }],
  ["{'a': 'b'}", { a: 'b' }],
  ['{a: 1}', { a: 1 }],
  ['{"a": [1, 2', { a: [1, 2] }],
  ['{"a": {"b": 1}, "c": 2', { a: { b: 1 }, c: 2 }],
  ['```json\n{"a": 1}\n```', { a: 1 }],
  ['```\n[1, 2]\n```\nDone.', [1, 2]],
  ['Sure! Here is the JSON:\n{"a": 1}', { a: 1 }],
  ['{"a": 1}\nHope this helps!', { a: 1 }],
  ['{"a": True, "b": None}', { a: true, b: null }],
  ['{"a": "say "hi" to him"}', { a: 'say "hi" to him' }],
  ['{"a": 1 "b": 2}', { a: 1, b: 2 }],
  ['{"a":1;"b":2}', { a: 1, b: 2 }],
  ['{"a": "x; y"; "b": [1; 2];}', { a: 'x; y', b: [1, 2] }],
  ['{"path": "C:\\path\\new"}', { path: 'C:\\path\\new' }],
  ['{"tex": "\\frac{\\alpha}{2}", "quoted": "a \\"b\\""}', { tex: '\\frac{\\alpha}{2}', quoted: 'a "b"' }],
  ['{"pattern": "\\d+\\s*$", "n": 1,}', { pattern: '\\d+\\s*$', n: 1 }],
  ['{"a": 1, // one\n "b": 2}', { a: 1, b: 2 }],
  ['{“a”: “b”}', { a: 'b' }],
  ['{"day": 2026-11-18, "kind": open}', { day: '2026-11-18', kind: 'open' }],
  ['{"a": "line one\nline two"}', { a: 'line one\nline two' }],
  ['{"a": 1.0, "b": 1e3, "c": .5,}', { a: 1, b: 1000, c: 0.5 }],
  ['{"open": TRUE, "shut": FALSE, "why": Null}', { open: true, shut: false, why: null }],
  ['{"said": "it isn\\\'t"}', { said: "it isn't" }],
  ['{"site": https://example.com/a?b=1, "n": 1}', { site: 'https://example.com/a?b=1', n: 1 }],
  ['{"a": 1 /* one */, "b": 2 # two\n}', { a: 1, b: 2 }],
  ['{"a" "b", "c" 2}', { a: 'b', c: 2 }],
  ['{1: "one", "two": 2}', { 1: 'one', two: 2 }],
  ['{"a": "eine „Frage" dazu"}', { a: 'eine „Frage" dazu' }],
  ['{"a": "b"\n```', { a: 'b' }],
  ['The items:\n[1, 2,]', [1, 2]],
  ['{"a": [1, 2,]}\nThis is "all", so far.', { a: [1, 2] }],
]

for (const [text, value] of repaired)
  test(`repairs ${JSON.stringify(text)}`, () => {
    expect(JSON.parse(repairJson(text, null)?.text ?? '')).toEqual(value)
  })

test('prose is not JSON, and valid JSON stays as it is', () => {
  expect(repairJson('I cannot do that.', null)).toBeNull()
  expect(repairJson('', null)).toBeNull()
  expect(repairJson('"text"', null)?.text).toBe('"text"')
  expect(repairJson('{"a":  1}', null)?.text).toBe('{"a":  1}')
})

test.each(['{"a": NaN}', '{"a": 1,234}', '{"a": 0xFF}', '{"a": 12;34kg}', '{"a": 5%}'])(
  'a repair of %p that would change a value is none',
  (text) => {
    expect(repairJson(text, null)).toBeNull()
  },
)

test.each([
  ['a member without a value', '{"a": 1, "b": }'],
  ['a member without a value before another', '{"a": , "b": 1}'],
  ['a text that is cut off', '{"a": 1, "city": "New Yo'],
  ['an escape that is cut off', '{"a": "x\\\\u20'],
  ['a key that is cut off', '[{"a": "b", "a'],
  ['a member in a list', '["name": "Ada"]'],
  ['a comment that hides a bracket', '{"a": {"b": "c" # note }, "d": 1}'],
  ['a key that is not closed', '{"a:"b"}'],
  ['a quote that may end the text or not', '{"a": "five" tall"}'],
  ['words behind a text', '{"a": ["b" words], "c": ["d"]}'],
  ['text that looks like another member', '{"a": "he said "stop " to me ...}'],
  ['a word joined to a text', '["a", b"c"]'],
  ['two members of one name', "{'a': 1, 'a': 2}"],
  ['brackets that do not match', '[{]'],
  ['members before the first brace', 'id: "a"\nitem {\n  b: "c"\n}'],
  ['a bracket in a text that is cut off', '["a", "\\"b]\\" c'],
  ['a literal that is cut off', '{"a": [false, nu'],
  ['a word that may be cut off', '{"a": 1, "b": op'],
  ['members behind the last bracket', '{"a": 1, "b": [2], "c": {"d": 3, "e":'],
  ['members behind the last bracket, without a comma', '{"a": [1] "b": {'],
  ['quotes of two kinds around a text', '{“a": "b”}'],
  ['references in prose', 'As shown in [1] and [a-z], it works.'],
])('values are not invented, lost or changed: %s', (_, text) => {
  expect(repairJson(text, null)).toBeNull()
})

test('a schema is checked as far as it can be', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
  expect(repairJson('{a: 1}', schema)?.matchesSchema).toBe(true)
  expect(repairJson('{a: "x"}', schema)?.matchesSchema).toBe(false)
  expect(repairJson('{a: 1}', null)?.matchesSchema).toBeNull()
})

test('what is too long, or takes too long, is not repaired', async () => {
  const quota = { owner: 'org', milliseconds: 10_000 }
  const small = new JsonRepairer({ characters: 10 })
  expect(await small.repair('{a: 1, b: 2}', null, quota)).toBeNull()
  small.stop()
  const hasty = new JsonRepairer({ milliseconds: 0 })
  expect(await hasty.repair('{"a":"x, "y": '.repeat(5000), null, quota)).toBeNull()
  hasty.stop()
})
