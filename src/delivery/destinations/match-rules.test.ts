import { describe, expect, test } from 'bun:test'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import type { GenerationEvent } from './event.ts'
import { filterRules } from './filter-rules.ts'
import { compileRules, matchEvent } from './match-rules.ts'

const event: GenerationEvent = {
  id: 'gen-1',
  trace: {
    traceId: '0'.repeat(32),
    spanId: '0'.repeat(16),
    parentSpanId: null,
    traceName: null,
    spanName: null,
    generationName: null,
    metadata: {},
    spans: [],
  },
  startedAt: 0,
  endedAt: 1,
  firstTokenAt: null,
  region: 'global',
  requestedModel: 'acme/fast',
  model: 'acme/fast-1',
  provider: 'acme',
  operation: 'chat',
  streamed: false,
  status: 'completed',
  error: null,
  finishReason: 'stop',
  parameters: {},
  tools: { declared: 0, called: [] },
  usage: {
    promptTokens: 10,
    completionTokens: 5,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  },
  sessionId: 'session-1',
  externalUser: null,
  input: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'My order 4711 is late' }] },
    ],
  },
  output: {
    completion: 'Sorry to hear that.',
    reasoning: 'hidden thoughts',
    tool_calls: [{ id: 'call_1', name: 'find_order', arguments: '{"order":4711}' }],
  },
  cost: { total: 0.25, upstream: 0.25, isByok: false, serviceTier: null },
  identity: { organizationId: 'o', workspaceId: 'w', apiKeyName: 'Backend', apiKeyHash: 'h', userId: null },
  context: null,
}

function matches(rules: unknown, changed: GenerationEvent = event): Promise<boolean> {
  return runInSlices(matchEvent(compileRules(filterRules.parse(rules)), changed))
}

const groupOf = (...rules: unknown[]) => ({ groups: [{ rules }] })

describe('E17 filter rules', () => {
  test.each([
    ['model', 'equals', 'acme/fast-1', true],
    ['model', 'equals', 'acme/fast', false],
    ['model', 'equals', undefined, false],
    ['model', 'not_equals', 'acme/fast', true],
    ['provider', 'contains', 'cm', true],
    ['provider', 'contains', 'ACME', false],
    ['provider', 'contains', undefined, true],
    ['provider', 'not_contains', 'cm', false],
    ['session_id', 'starts_with', 'session-', true],
    ['session_id', 'ends_with', '-2', false],
    ['api_key_name', 'equals', 'Backend', true],
    ['finish_reason', 'regex', '^st[ao]p$', true],
    ['input', 'contains', 'order 4711', true],
    ['input', 'contains', 'Be brief', true],
    ['input', 'contains', 'system', false],
    ['input', 'regex', '(?i)ORDER \\d+', true],
    ['output', 'contains', 'Sorry', true],
    ['output', 'contains', 'find_order', true],
    ['output', 'contains', 'hidden thoughts', false],
    ['output', 'regex', '^$', false],
    ['total_cost', 'gt', 0.2, true],
    ['total_cost', 'gt', 0.25, false],
    ['total_cost', 'gte', 0.25, true],
    ['total_cost', 'equals', 0.25, true],
    ['total_tokens', 'equals', '15', true],
    ['total_tokens', 'lt', 15, false],
    ['prompt_tokens', 'lte', 10, true],
    ['completion_tokens', 'gt', undefined, true],
    ['completion_tokens', 'equals', undefined, false],
    ['completion_tokens', 'contains', '5', true],
    ['model', 'gt', 1, false],
    ['model', 'exists', undefined, true],
    ['model', 'not_exists', undefined, false],
    ['user_id', 'exists', undefined, false],
    ['user_id', 'not_exists', undefined, true],
    ['user_id', 'equals', '', false],
    ['user_id', 'not_equals', 'x', true],
    ['user_id', 'not_contains', 'x', true],
    ['user_id', 'contains', '', false],
    ['user_id', 'regex', '.*', false],
    ['user_id', 'lt', 5, false],
  ])('%s %s %p: %p', async (field, operator, value, expected) => {
    expect(await matches(groupOf({ field, operator, ...(value !== undefined && { value }) }))).toBe(expected)
  })

  const yes = { field: 'model', operator: 'exists' }
  const no = { field: 'model', operator: 'not_exists' }

  test.each([
    ['and: all must match', [{ rules: [yes, yes] }], true],
    ['and: one does not', [{ logic: 'and', rules: [yes, no] }], false],
    ['or: one is enough', [{ logic: 'or', rules: [no, yes] }], true],
    ['or: none matches', [{ logic: 'or', rules: [no, no] }], false],
    ['every group must match', [{ rules: [yes] }, { logic: 'or', rules: [no] }], false],
    ['all groups match', [{ rules: [yes] }, { logic: 'or', rules: [no, yes] }], true],
    ['a group without rules excludes nothing', [{ rules: [] }, { logic: 'or', rules: [] }], true],
    ['no groups', [], true],
  ])('%s', async (_, groups, expected) => {
    expect(await matches({ groups })).toBe(expected)
  })

  test('rules that are not enabled exclude nothing', async () => {
    expect(await matches({ enabled: false, ...groupOf(no) })).toBe(true)
  })

  test('an event without content has no input and no output', async () => {
    const stripped = { ...event, input: null, output: null, cost: null }
    for (const field of ['input', 'output', 'total_cost'])
      expect(await matches(groupOf({ field, operator: 'not_exists' }), stripped)).toBe(true)
  })

  test('S13 long texts and many rules leave the event loop free in between', async () => {
    const prompt = 'lorem ipsum '.repeat(80_000)
    const rules = Array.from({ length: 50 }, (_, index) => ({
      field: 'input',
      operator: index % 2 ? 'regex' : 'not_contains',
      value: index % 2 ? `(?i)ipsum|absent${index}` : `absent ${index}`,
    }))
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    expect(await matches({ groups: Array(5).fill({ rules }) }, { ...event, input: { prompt } })).toBe(true)
    clearInterval(timer)
    expect(turns).toBeGreaterThan(1)
  })
})
