import { expect, test } from 'bun:test'
import { measureCpuTime } from '../../../test/support/cpu-time.ts'
import { compileRuleCondition, findConditionProblem, maxConditionLength } from './compile.ts'
import { findMatch, type RoutingRule, type RuleFacts } from './rule.ts'

/** The longest values that a request can have. */
const facts: RuleFacts = {
  ...{ model: 'm'.repeat(256), operation: 'text', stream: true, end_user: 'u'.repeat(256) },
  tags: new Map(Array.from({ length: 16 }, (_, index) => [`tag${index}`, 'v'.repeat(128)])),
  ...{ workspace: 'w'.repeat(64), key: 'k'.repeat(256), key_hash: 'f'.repeat(64), member: 'm'.repeat(64) },
  ...{ region: 'global', time: Date.now(), input_tokens: 1_000_000, images: 10, language: 'en' },
  tools: new Set(Array.from({ length: 1000 }, (_, index) => `tool${index}`)),
  uses_tools: true,
}

const parts = [
  `'x' in tools || `,
  `end_user.contains('ux') || `,
  `model.endsWith(end_user) || `,
  `tags.tag1.contains(model) || `,
  `size(end_user) == 1 || `,
  `time.getHours('Asia/Kolkata') == 99 || `,
  `int(key) == 1 || `,
  `'a' in [key, model] || `,
  `!stream || `,
]

test.each(parts)('a hundred of the longest conditions of %p take a few milliseconds', (part) => {
  const text = `${part.repeat(Math.floor((maxConditionLength - 5) / part.length))}false`
  const rules = Array.from({ length: 100 }, (_, index): RoutingRule => {
    const id = String(index)
    return { id, name: id, condition: compileRuleCondition(text), action: { models: ['a'] } }
  })
  let failures = 0
  const evaluate = () => findMatch(rules, facts, () => failures++)
  const times = Array.from({ length: 20 }, () => measureCpuTime(() => expect(evaluate()).toBeNull()))
  expect(Math.min(...times)).toBeLessThan(20)
  expect(failures === 0 || part.includes('int(')).toBe(true)
})

test.each([
  ['parentheses', `${'('.repeat(990)}true${')'.repeat(990)}`],
  ['negations', `${'!'.repeat(1990)}true`],
  ['indexes', `${'tags['.repeat(300)}model${']'.repeat(300)} == ''`],
  ['ternaries', `${'true ? '.repeat(150)}true${' : true'.repeat(150)}`],
  ['calls', `${'size('.repeat(300)}model${')'.repeat(300)} == 1`],
  ['presence', `${'has('.repeat(400)}tags.a${')'.repeat(400)}`],
  ['dots', `tags${'.a'.repeat(900)} == ''`],
  ['quotes', `"${'\\'.repeat(1990)}`],
  ['characters', '\u0000'.repeat(2000)],
  ['surrogates', '\ud800'.repeat(2000)],
])('%s that are nested or broken are rejected in a few milliseconds', (_, text) => {
  const examine = () => expect(findConditionProblem(text)).not.toBeNull()
  expect(Math.min(...Array.from({ length: 5 }, () => measureCpuTime(examine)))).toBeLessThan(50)
})

test('the longest list of literals is searched in one step', () => {
  const list = Array.from({ length: 400 }, (_, index) => `'${index}'`).join(',')
  const { test: evaluate } = compileRuleCondition(
    `'399' in [${list}] && !(model in [${list}])`.slice(0, 20_000),
  )
  expect(evaluate(facts)).toBe(true)
})
