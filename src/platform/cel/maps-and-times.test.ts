import { describe, expect, test } from 'bun:test'
import { compileCondition, compileWithReads } from './condition.ts'
import { EvaluationError } from './expression.ts'

const variables = {
  tags: 'map',
  tools: 'list',
  time: 'timestamp',
  count: 'int',
  user: 'string',
  flag: 'bool',
} as const
const values = {
  tags: new Map([
    ['project', 'apollo'],
    ['cost-center', '4711'],
    ['tier', 'not a number'],
  ]),
  tools: new Set(['search', 'bash']),
  // A Monday.
  time: Date.parse('2030-07-01T22:45:30Z'),
  count: 7,
  user: 'ann',
  flag: true,
}
const evaluate = (text: string, more: Record<string, string | boolean> = {}) =>
  compileCondition(text, variables)({ ...values, ...more })

describe('maps', () => {
  test.each([
    [`tags.project == 'apollo'`, true],
    [`tags['cost-center'] == '4711'`, true],
    [`tags[user] == ''`, true],
    [`tags.missing == ''`, true],
    [`tags.missing != 'x'`, true],
    [`has(tags.project) && !has(tags.missing) && has(tags['cost-center'])`, true],
    [`'project' in tags && !('ann' in tags)`, true],
    [`size(tags) == 3 && tags.size() == 3`, true],
    [`tags.project.startsWith('apo')`, true],
    [`tags.project in ['apollo', user]`, true],
    [`int(tags['cost-center']) > 4000`, true],
    [`'bash' in tools && !('python' in tools) && size(tools) == 2`, true],
  ])('%s is %p', (text, expected) => expect(evaluate(text)).toBe(expected))

  test.each([
    ['tags == tags', 'maps cannot be compared'],
    ['tags', 'expected true or false, not a map of strings'],
    ['user.project == ""', 'unexpected'],
    ['user["project"] == ""', 'unexpected ['],
    ['tags[1] == ""', 'expected a string'],
    ['tags.project', 'expected true or false'],
    ['tags.constructor("x")', 'unknown function constructor'],
    ['tags.', 'ends too soon'],
    ['tags["a" == "b"] == ""', 'expected a string'],
    ['has(tags)', 'has takes an entry'],
    ['has(user)', 'has takes an entry'],
    ['has(tags.a, tags.b)', 'has takes an entry'],
    ['int(count) == 1', 'int takes one string'],
    ['1 in tags', 'expected a string'],
    ['size(time) == 1', 'size takes one string or list'],
    ['tags.map(t, t)', 'unknown variable t'],
  ])('%s is refused', (text, problem) => {
    expect(() => compileCondition(text, variables)).toThrow(problem)
  })

  test('names of the object prototype are no entries', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      expect(evaluate(`has(tags.${name}) || '${name}' in tags || tags['${name}'] != ''`)).toBe(false)
  })
})

describe('times', () => {
  test.each([
    [`time.getHours() == 22 && time.getMinutes() == 45 && time.getDayOfWeek() == 1`, true],
    [`time.getDate() == 1 && time.getMonth() == 6 && time.getFullYear() == 2030`, true],
    [`time.getHours('Europe/Berlin') == 0 && time.getDayOfWeek('Europe/Berlin') == 2`, true],
    [`time.getHours('Asia/Kolkata') == 4 && time.getMinutes('Asia/Kolkata') == 15`, true],
    [`time.getMonth('America/Los_Angeles') == 6 && time.getHours('America/Los_Angeles') == 15`, true],
    [`time >= timestamp('2030-07-01T22:45:30Z') && time < timestamp('2030-07-02T01:00:00+02:00')`, true],
    [`time == timestamp('2030-07-01T22:45Z')`, false],
  ])('%s is %p', (text, expected) => expect(evaluate(text)).toBe(expected))

  test('summer and winter time', () => {
    const berlin = compileCondition(`time.getHours('Europe/Berlin') == 10`, variables)
    for (const [time, expected] of [
      ['2030-01-15T09:10:00Z', true],
      ['2030-07-15T08:10:00Z', true],
      ['2030-07-15T09:10:00Z', false],
    ] as const)
      expect(berlin({ ...values, time: Date.parse(time) })).toBe(expected)
  })

  test.each([
    [`time.getHours('Mars/Olympus') == 1`, 'unknown time zone "Mars/Olympus"'],
    [`time.getHours('${'a'.repeat(900)}') == 1`, 'unknown time zone'],
    [`time.getHours(user) == 1`, 'takes at most the name of a time zone'],
    [`time.getHours('UTC', 'UTC') == 1`, 'takes at most the name of a time zone'],
    [`time.getEon() == 1`, 'unknown function getEon of a time'],
    [`time > 5`, 'expected a time, not a number'],
    [`time == '2030'`, 'expected a time, not a string'],
    [`timestamp('yesterday') < time`, 'timestamp takes the text of a time'],
    [`timestamp(user) < time`, 'timestamp takes the text of a time'],
    [`timestamp('2030-99-99T00:00:00Z') < time`, 'timestamp takes the text of a time'],
    [`count.getHours() == 1`, 'unknown function getHours'],
  ])('%s is refused', (text, problem) => {
    expect(() => compileCondition(text, variables)).toThrow(problem)
  })
})

describe('what cannot be evaluated', () => {
  const evaluateUnreadable = (text: string) =>
    compileCondition(text, variables)({ ...values, user: new EvaluationError('not kept') })

  test.each([
    [`user == 'ann' || flag`, true],
    [`flag || user == 'ann'`, true],
    [`user == 'ann' && !flag`, false],
    [`!flag && user == 'ann'`, false],
    [`flag ? count == 7 : user == 'ann'`, true],
  ])('%s is decided by the other part', (text, expected) => expect(evaluateUnreadable(text)).toBe(expected))

  test.each([`user == 'ann'`, `user == 'ann' || !flag`, `flag && user == 'ann'`, `!(user == 'ann')`])(
    '%s is an error',
    (text) => expect(() => evaluateUnreadable(text)).toThrow(EvaluationError),
  )

  test('a text that is not a number', () => {
    expect(() => evaluate('int(tags.tier) > 1')).toThrow(EvaluationError)
    expect(() => evaluate('int(tags.missing) > 1')).toThrow(EvaluationError)
    expect(evaluate('int(tags.tier) > 1 || flag')).toBe(true)
  })

  test('another error is not hidden', () => {
    const broken = Object.defineProperty({ ...values }, 'user', {
      get: () => {
        throw new TypeError('a mistake')
      },
    })
    expect(() => compileCondition(`user == 'a' || flag`, variables)(broken)).toThrow(TypeError)
  })
})

test('the variables that a condition names', () => {
  const { reads } = compileWithReads(`flag && (tags.user == 'x' || 'count' in tools)`, variables)
  expect([...reads].toSorted()).toEqual(['flag', 'tags', 'tools'])
})
