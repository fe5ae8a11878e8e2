import { expect, test } from 'bun:test'
import type { Caller } from '../../access/caller.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import { compileRuleCondition } from '../../governance/routing-rules/compile.ts'
import type { MeasuredContent } from './inference-request.ts'
import type { RequestOptions } from './options.ts'
import { describeRequest } from './rule-facts.ts'

/** A request that counts what is read of it. */
function countReads(model = 'acme/big') {
  const reads = { call: 0, promptTokens: 0, tags: 0 }
  const call: ModelCall = {
    messages: [
      { role: 'user', parts: [{ kind: 'text', text: 'Was ist das und wie geht es mit dem Brief?' }] },
      { role: 'assistant', parts: [{ kind: 'text', text: 'What is this and how are you?' }] },
    ],
    tools: [
      { kind: 'function', name: 'search', namespace: 'web' },
      { kind: 'native', wireFormat: 'responses', type: 'code_interpreter', value: {} },
    ],
    stream: false,
    unknown: [],
  }
  const content = {
    plain: null,
    stream: false,
    get call() {
      reads.call++
      return call
    },
    get promptTokens() {
      reads.promptTokens++
      return 1000
    },
  } as MeasuredContent
  const options = {
    models: [model],
    user: null,
    get tags() {
      reads.tags++
      return ['team=search', 'cost-center=47=11']
    },
  } as unknown as RequestOptions
  const caller = { key: { name: 'app', hash: 'f' }, userId: null } as Caller
  const format = { name: 'chat', task: 'text' } as const
  const facts = describeRequest({
    ...{ caller, region: 'global', format, content, options, workspace: 'default', at: 0 },
  })
  return { facts, reads }
}

test('what takes work is computed once, and only if a condition reads it', () => {
  const { facts, reads } = countReads()
  const evaluate = (text: string) => compileRuleCondition(text).test(facts)
  expect(evaluate(`model == 'acme/big' && key == 'app' && workspace == 'default'`)).toBe(true)
  expect(reads).toEqual({ call: 0, promptTokens: 0, tags: 0 })
  for (let count = 0; count < 3; count++) {
    expect(evaluate('input_tokens > 500 && input_tokens < 2000')).toBe(true)
    expect(evaluate(`tags.team == 'search' && tags['cost-center'] == '47=11'`)).toBe(true)
  }
  expect(reads).toEqual({ call: 0, promptTokens: 1, tags: 1 })
  for (let count = 0; count < 3; count++) expect(evaluate(`language == 'de' && images == 0`)).toBe(true)
  expect(reads.call).toBe(2)
  expect(evaluate(`'web__search' in tools && 'code_interpreter' in tools && uses_tools`)).toBe(true)
})

test('a model of millions of characters costs conditions no more than the longest name', () => {
  const { facts } = countReads('m'.repeat(10_000_000))
  expect(facts.model).toHaveLength(256)
  expect(compileRuleCondition(`model.startsWith('mmm')`).test(facts)).toBe(true)
})
