import {
  combineResults,
  EvaluationError,
  type Expression,
  hasItem,
  literal,
  mapResult,
  requireType,
  sizeOf,
  type Value,
} from './expression.ts'
import { CelError, type Token } from './tokens.ts'
import { findZone, readTimePart, timeParts } from './zoned-time.ts'

type Operator = (left: Value, right: Value) => boolean

const orderings: Record<string, Operator> = {
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

export function combine({ text, at }: Token, left: Expression, right: Expression): Expression {
  const build = (evaluate: Expression['evaluate']): Expression => ({ type: 'bool', at, evaluate })
  if (text === '&&' || text === '||') {
    requireType(left, 'bool')
    requireType(right, 'bool')
    return build(connect(left, right, text === '||'))
  }
  if (text === 'in') {
    requireType(left, 'string')
    if (right.type !== 'map') requireType(right, 'list')
    return build(combineResults(left, right, (item, items) => hasItem(items, item)))
  }
  const compare = orderings[text]
  if (compare) {
    requireType(left, left.type === 'timestamp' ? 'timestamp' : 'int')
    requireType(right, left.type)
    return build(combineResults(left, right, compare))
  }
  requireType(right, left.type)
  if (left.type === 'list' || left.type === 'map')
    throw new CelError(`${left.type}s cannot be compared; use in or size`, at)
  const isEqual = text === '=='
  return build(combineResults(left, right, (one, other) => (one === other) === isEqual))
}

/** As CEL defines it, one side decides if it can, also where the other cannot be evaluated. */
function connect(left: Expression, right: Expression, deciding: boolean): Expression['evaluate'] {
  return (values) => {
    const first = left.evaluate(values)
    if (first === deciding) return deciding
    const second = right.evaluate(values)
    if (second === deciding) return deciding
    if (first instanceof EvaluationError) return first
    return second instanceof EvaluationError ? second : !deciding
  }
}

/** Called as `subject.startsWith('x')`. */
const stringMethods: Record<string, (text: string, part: string) => boolean> = {
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
}

const supportedFunctions = 'startsWith, endsWith, contains, size, has, int and those of times'

export function callMethod(name: Token, target: Expression, args: Expression[]): Expression {
  if (name.text === 'size' && args.length === 0) return callFunction(name, [target])
  if (target.type === 'timestamp') return callTimeMethod(name, target, args)
  const method = Object.hasOwn(stringMethods, name.text) ? stringMethods[name.text] : undefined
  const [argument, another] = args
  if (!method) throw unknownFunction(name)
  if (!argument || another) throw new CelError(`${name.text} takes one string`, name.at)
  requireType(target, 'string')
  requireType(argument, 'string')
  return {
    type: 'bool',
    at: name.at,
    evaluate: combineResults(target, argument, (text, part) => method(String(text), String(part))),
  }
}

/** `time.getHours('Europe/Berlin')`; without a time zone in UTC. */
function callTimeMethod({ text, at }: Token, target: Expression, args: Expression[]): Expression {
  const part = timeParts.find((known) => known === text)
  if (!part) throw new CelError(`unknown function ${text} of a time; there are ${timeParts.join(', ')}`, at)
  const [argument, another] = args
  if (another || (argument && typeof argument.literal !== 'string'))
    throw new CelError(`${text} takes at most the name of a time zone`, at)
  const name = argument ? String(argument.literal) : 'UTC'
  const zone = findZone(name)
  if (!zone) throw new CelError(`unknown time zone ${JSON.stringify(name.slice(0, 50))}`, argument?.at ?? at)
  return { type: 'int', at, evaluate: mapResult(target, (time) => readTimePart(zone, part, Number(time))) }
}

type CreateCall = (argument: Expression, at: number) => Expression | null

const functions: Record<string, { takes: string; create: CreateCall }> = {
  size: {
    takes: 'one string or list',
    create: (argument, at) =>
      ['string', 'list', 'map'].includes(argument.type)
        ? { type: 'int', at, evaluate: mapResult(argument, sizeOf) }
        : null,
  },
  has: {
    takes: 'an entry, such as tags.project',
    create: ({ isPresent }, at) => (isPresent ? { type: 'bool', at, evaluate: isPresent } : null),
  },
  int: {
    takes: 'one string',
    create: (argument, at) =>
      argument.type === 'string' ? { type: 'int', at, evaluate: mapResult(argument, toInteger) } : null,
  },
  timestamp: {
    takes: "the text of a time, such as '2030-01-31T18:00:00Z'",
    create: (argument, at) => {
      const time = readTimestamp(argument.literal)
      return time === null ? null : literal('timestamp', time, at)
    },
  },
}

export function callFunction(name: Token, args: Expression[]): Expression {
  const called = Object.hasOwn(functions, name.text) ? functions[name.text] : undefined
  if (!called) throw unknownFunction(name)
  const [argument, another] = args
  const call = argument && !another ? called.create(argument, name.at) : null
  if (!call) throw new CelError(`${name.text} takes ${called.takes}`, name.at)
  return call
}

/** Created once: the stack of an error takes longer than a condition. */
const noIntegerError = new EvaluationError(
  'int() of a text that is not a whole number of at most nine digits',
)

function toInteger(text: Value): number | EvaluationError {
  return /^-?[0-9]{1,9}$/.test(String(text)) ? Number(text) : noIntegerError
}

const timestampPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

function readTimestamp(text: Value | undefined): number | null {
  if (typeof text !== 'string' || !timestampPattern.test(text)) return null
  const time = Date.parse(text)
  return Number.isNaN(time) ? null : time
}

function unknownFunction({ text, at }: Token): CelError {
  const problem =
    text === 'matches'
      ? 'regular expressions are not supported'
      : `unknown function ${text}; the functions are ${supportedFunctions}`
  return new CelError(problem, at)
}
