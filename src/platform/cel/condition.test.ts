import { describe, expect, test } from 'bun:test'
import { compileCondition } from './condition.ts'

const variables = { subject: 'string', audience: 'string', scopes: 'list', token_type: 'string' } as const
const values = {
  subject: 'repo:acme/app:ref:refs/heads/main',
  audience: 'https://gate.example',
  scopes: ['read', 'deploy'],
  token_type: 'jwt',
}
const evaluate = (text: string) => compileCondition(text, variables)(values)

describe('conditions', () => {
  test.each([
    [`subject == 'repo:acme/app:ref:refs/heads/main'`, true],
    [`subject != "x"`, true],
    [`subject.startsWith('repo:acme/') && subject.endsWith(':refs/heads/main')`, true],
    [`subject.contains('/app:') && !subject.contains('pull')`, true],
    [`'deploy' in scopes`, true],
    [`'admin' in scopes || 'read' in scopes`, true],
    [`audience in ['https://a.example', 'https://gate.example']`, true],
    [`subject in []`, false],
    [`size(scopes) >= 2 && subject.size() < 100`, true],
    [`size('\u{1F600}') == 1`, true],
    [`token_type == 'jwt' ? 'read' in scopes : false`, true],
    [`false && false || true`, true],
    [`false && (false || true)`, false],
    [`true == !false`, true],
    [`'it\\'s' == "it's"`, true],
    [`subject.startsWith('repo:other/')`, false],
    [`scopes.size() == 0`, false],
  ])('%s is %p', (text, expected) => expect(evaluate(text)).toBe(expected))

  test.each([
    ['', 'ends too soon'],
    ['subject', 'expected true or false, not a string'],
    ['1', 'expected true or false, not a number'],
    ['subject == 1', 'expected a string, not a number'],
    ['subject && true', 'expected true or false'],
    ['!subject', 'expected true or false'],
    ["scopes == ['read']", 'lists cannot be compared'],
    ['1 in scopes', 'expected a string'],
    ["'a' in subject", 'expected a list of strings'],
    ['[1] == [1]', 'expected a string'],
    ["subject < 'b'", 'expected a number'],
    ["subject.matches('.*')", 'regular expressions are not supported'],
    ["matches(subject, '.*')", 'regular expressions are not supported'],
    ['scopes.exists(s, s == subject)', 'unknown variable s'],
    ["subject.constructor('x')", 'unknown function constructor'],
    ['subject.length', 'the condition ends too soon'],
    ["toString() == ''", 'unknown function toString'],
    ['__proto__ == true', 'unknown variable __proto__'],
    ['constructor == true', 'unknown variable constructor'],
    ["claims.sub == 'x'", 'unknown variable claims'],
    ['subject.startsWith()', 'takes one string'],
    ["subject.startsWith('a', 'b')", 'takes one string'],
    ['subject.startsWith(1)', 'expected a string'],
    ['size(true) == 1', 'size takes one string or list'],
    ['true ? true : 1', 'expected true or false'],
    ['true true', 'unexpected true'],
    ['(true', 'ends too soon'],
    ["'abc", 'a string has no end'],
    ["'\\q' == 'q'", 'unknown escape'],
    ["r'a' == 'a'", 'unknown variable r'],
    ['true; false', 'unexpected ";"'],
    ['subject = "x"', 'unexpected "="'],
    ['size(scopes) == 99999999999999999999', 'more than nine digits'],
    ['in in in', 'unknown variable in'],
  ])('%s is refused', (text, problem) => {
    expect(() => compileCondition(text, variables)).toThrow(problem)
  })

  test.each([
    ['parentheses', `${'('.repeat(900)}true${')'.repeat(900)}`],
    ['negations', `${'!'.repeat(1900)}true`],
    ['ternaries', `${'true ? '.repeat(100)}true${' : true'.repeat(100)}`],
    ['lists', `'a' in ${'['.repeat(900)}${']'.repeat(900)}`],
    ['calls', `${'size('.repeat(300)}subject${')'.repeat(300)} == 1`],
  ])('deeply nested %s are refused', (_, text) => {
    expect(() => compileCondition(text, variables)).toThrow(/nested more than 32 levels|unexpected/)
  })

  test('the longest conditions over the longest values are evaluated', () => {
    const long = { ...values, subject: 'a'.repeat(16_384), scopes: Array.from({ length: 100 }, () => 'a') }
    for (const part of [`'b' in scopes || `, `subject.contains('ab') || `, `!true || `]) {
      const text = `${part.repeat(Math.floor(1990 / part.length))}false`
      expect(compileCondition(text, variables)(long)).toBe(false)
    }
  })
})
