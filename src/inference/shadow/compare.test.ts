import { describe, expect, test } from 'bun:test'
import type { ModelCall } from '../../formats/call/call.ts'
import type { Reply } from '../../formats/call/event.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import { compareSides, type SideOutcome } from './compare.ts'
import { conformsTo } from './conforms-to.ts'
import { isInShare } from './watch.ts'

function sideOf(parts: OutputPart[], changes: Partial<SideOutcome> = {}): SideOutcome {
  const end = { type: 'choice-end', choice: 0, reason: 'stop', native: 'stop' } as const
  const reply: Reply = {
    start: { type: 'reply-start' },
    choices: [{ index: 0, parts, end }],
    usage: null,
    failure: null,
    isComplete: true,
  }
  return {
    ...{ generation_id: 'gen-1', external_id: null, model: 'm', provider: 'p', status: 'completed' },
    ...{ error: null, finish_reason: 'stop', prompt_tokens: 1, completion_tokens: 1, cost_nanos: '0' },
    ...{ latency_ms: 1, first_token_ms: null, reply },
    ...changes,
  }
}

const text = (value: string): OutputPart => ({ kind: 'text', text: value })
const toolCall = (name: string, args: string): OutputPart => ({
  ...{ kind: 'tool-call', id: 'c', name, arguments: args },
})
const compare = (
  one: OutputPart[],
  other: OutputPart[],
  call: Pick<ModelCall, 'tools' | 'format'> = {},
  logsContent = false,
) => compareSides(sideOf(one), sideOf(other), { call, logsContent }).differences

describe('what is compared', () => {
  test('other words are no difference, and neither is reasoning', () => {
    const thought: OutputPart = { kind: 'reasoning', text: 'hm', summary: [], format: 'unknown' }
    expect(compare([text('One answer.')], [thought, text('Another, longer answer.')])).toEqual([])
  })

  test('names of arguments, not their values', () => {
    const call = toolCall('search', '{"q":"cats","limit":1}')
    expect(compare([call], [toolCall('search', '{"limit":99,"q":"dogs"}')])).toEqual([])
    const declared = {
      tools: [
        {
          ...{ kind: 'function' as const, name: 'search' },
          schema: { type: 'object', properties: { q: {}, limit: {} } },
        },
      ],
    }
    expect(compare([call], [toolCall('search', '{"q":"dogs"}')], declared)).toEqual([
      { kind: 'tool_arguments', path: 'tool_calls[0].search', original: 'limit, q', mirror: 'q' },
    ])
    expect(compare([call], [toolCall('search', 'no')], declared)[0]?.mirror).toBe('not JSON')
  })

  test('JSON in a text by paths and types; entries of a list share one', () => {
    const differences = compare(
      [text('{"a":[{"b":1},{"b":"x"}]}')],
      [text('{"a":[{"b":2}],"c":null}')],
      {},
      true,
    )
    expect(differences).toEqual([
      { kind: 'json_shape', path: '$.a[].b', original: 'number|string', mirror: 'number' },
      { kind: 'json_shape', path: '$.c', original: null, mirror: 'null' },
    ])
  })

  test('names that the request does not declare are hidden unless contents are stored', () => {
    const [hidden] = compare([text('{"Anna Smith":1}')], [text('{}')])
    expect(hidden?.path).not.toContain('Anna')
    expect(hidden?.path).not.toContain('Smith')
    const [shown] = compare([text('{"Anna Smith":1}')], [text('{}')], {}, true)
    expect(shown?.path).toBe('$.Anna Smith')
  })

  test('of many differences fifty are kept, and the others counted', () => {
    const fields = Array.from({ length: 80 }, (_, index) => [`f${index}`, 1])
    const one = sideOf([text(JSON.stringify(Object.fromEntries(fields)))])
    const { differences, omitted } = compareSides(one, sideOf([text('{}')]), { call: {}, logsContent: true })
    expect([differences.length, omitted]).toEqual([50, 30])
  })

  test('deep and long JSON takes milliseconds', () => {
    const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`
    expect(compare([text(deep)], [text(deep)])).toEqual([])
    const long = `[${'1,'.repeat(200_000)}1]`
    expect(compare([text(long)], [text(long)])).toEqual([])
  })

  test('a failure is not compared further', () => {
    const failed = sideOf([], { status: 'failed', error: 'timeout', reply: null })
    const { differences } = compareSides(sideOf([text('x')]), failed, { call: {}, logsContent: false })
    expect(differences.map(({ kind }) => kind)).toEqual(['status', 'error'])
  })
})

describe('structured output', () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string', pattern: '^(a+)+$' }, pattern: { type: 'number' } },
    required: ['name', 'pattern'],
  }

  test.each<[unknown, boolean]>([
    [{ name: `${'a'.repeat(100)}!`, pattern: 1 }, true],
    [{ name: 'x', pattern: 'x' }, false],
    [{ name: 'x' }, false],
    ['x', false],
  ])('%j', (value, isValid) => {
    expect(conformsTo(schema, value)).toBe(isValid)
  })

  test('a schema whose parts refer to others many times is not checked', () => {
    const next = (index: number) => ({ $ref: `#/$defs/n${index}` })
    const doubled = Array.from({ length: 60 }, (_, index) => [
      `n${index}`,
      { anyOf: [next(index + 1), next(index + 1)] },
    ])
    const $defs = { ...Object.fromEntries(doubled), n60: { type: 'number' } }
    expect(conformsTo({ $defs, properties: { x: next(0) } }, { x: 'y' })).toBeNull()
    const node = { type: 'object', properties: { a: next(0) }, required: ['a'] }
    const deep = Array.from({ length: 60 }).reduce((a) => ({ a }), 1)
    expect(conformsTo({ $defs: { n0: { anyOf: [node, { ...node }] } }, ...next(0) }, deep)).toBeNull()
    const many = { type: 'array', items: { anyOf: Array.from({ length: 500 }, () => ({ type: 'null' })) } }
    expect(
      conformsTo(
        many,
        Array.from({ length: 10_000 }, () => 1),
      ),
    ).toBeNull()
  })

  test('a schema of a list that refers to itself is checked', () => {
    const item = {
      type: 'object',
      properties: { next: { anyOf: [{ $ref: '#/$defs/item' }, { type: 'null' }] } },
      required: ['next'],
    }
    const list = { $defs: { item }, $ref: '#/$defs/item' }
    expect(conformsTo(list, { next: { next: null } })).toBe(true)
    expect(conformsTo(list, { next: { next: 1 } })).toBe(false)
  })

  test('a schema that cannot be checked is no failure', () => {
    expect(conformsTo({ $ref: '#/nowhere' }, {})).toBeNull()
    expect(conformsTo({ description: 'x'.repeat(70_000) }, {})).toBeNull()
  })
})

test('a share is the same for the same id, and about as large as it says', () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => `gen-${index}`)
  const chosen = ids.filter((id) => isInShare('shadow', id, 250_000))
  expect(chosen.length).toBeGreaterThan(2300)
  expect(chosen.length).toBeLessThan(2700)
  expect(ids.filter((id) => isInShare('shadow', id, 250_000))).toEqual(chosen)
  expect(ids.filter((id) => isInShare('other', id, 250_000))).not.toEqual(chosen)
  expect(ids.some((id) => isInShare('shadow', id, 0))).toBe(false)
})
