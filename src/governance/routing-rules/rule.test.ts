import { expect, test } from 'bun:test'
import { EvaluationError } from '../../platform/cel/expression.ts'
import { compileRuleCondition, compileStored } from './compile.ts'
import { findMatch, type RoutingRule, type RuleAction, type RuleFacts } from './rule.ts'

const facts: RuleFacts = {
  ...{ model: 'acme/big', operation: 'text', stream: false, end_user: 'ann', tags: new Map() },
  ...{ workspace: 'default', key: 'app', key_hash: '', member: '', region: 'global', time: 0 },
  ...{ input_tokens: 5, images: 0, language: '', tools: new Set<string>(), uses_tools: false },
}
const rule = (id: string, when: string, action: RuleAction = { tags: { a: 'b' } }): RoutingRule => ({
  ...{ id, name: id, action },
  condition: compileRuleCondition(when),
})
const never = () => {
  throw new Error('no rule fails')
}

test('the first rule that holds', () => {
  const rules = [rule('a', 'false'), rule('b', `end_user == 'ann'`), rule('c', 'true')]
  expect(findMatch(rules, facts, never)?.id).toBe('b')
  expect(findMatch(rules.slice(0, 1), facts, never)).toBeNull()
})

test('a video keeps its model, but can be tagged and rejected', () => {
  const video = { ...facts, operation: 'video' }
  const rules = [rule('models', 'true', { models: ['acme/small'] }), rule('tags', 'true')]
  expect(findMatch(rules, facts, never)?.id).toBe('models')
  expect(findMatch(rules, video, never)?.id).toBe('tags')
})

test('a value is computed only if a condition that is tried reads it', () => {
  let reads = 0
  const lazy: RuleFacts = Object.defineProperty({ ...facts }, 'language', {
    get: () => {
      reads++
      return 'de'
    },
  })
  findMatch([rule('a', `end_user == 'bob' && language == 'de'`), rule('b', 'true')], lazy, never)
  expect(reads).toBe(0)
  findMatch([rule('a', `language == 'de'`)], lazy, never)
  expect(reads).toBe(1)
})

test('a stored condition is compiled once, and one that is not valid fails', () => {
  expect(compileStored('1', 'true')).toBe(compileStored('1', 'true'))
  expect(compileStored('2', 'true')).not.toBe(compileStored('1', 'true'))
  const broken = { ...rule('a', 'true'), condition: compileStored('3', 'future()') }
  const failures: unknown[] = []
  expect(findMatch([broken, rule('b', 'true')], facts, (_, error) => failures.push(error))?.id).toBe('b')
  expect(failures[0]).toBeInstanceOf(EvaluationError)
})
