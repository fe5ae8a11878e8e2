import { CelError } from './tokens.ts'

export type ValueType = 'string' | 'int' | 'bool' | 'list' | 'map' | 'timestamp'
/** A timestamp is a number of milliseconds. */
export type Value = string | number | boolean | readonly string[] | ReadonlySet<string> | TextMap
export type TextMap = ReadonlyMap<string, string>
/** A failure is a value: to throw one takes longer than most conditions, and both sides of `||` may fail. */
export type Result = Value | EvaluationError
export type Values = Readonly<Record<string, Result>>

export interface Expression {
  type: ValueType
  at: number
  evaluate(values: Values): Result
  /** The value of a literal. */
  literal?: Value
  /** Whether an entry of a map is there, which `has` asks. */
  isPresent?(values: Values): Result
}

/** A condition that cannot be evaluated for these values. */
export class EvaluationError extends Error {}

export function literal(type: ValueType, value: Value, at: number): Expression {
  return { type, at, literal: value, evaluate: () => value }
}

export function requireType(expression: Expression, type: ValueType): Expression {
  if (expression.type === type) return expression
  throw new CelError(`expected ${nameOf(type)}, not ${nameOf(expression.type)}`, expression.at)
}

function nameOf(type: ValueType): string {
  return {
    string: 'a string',
    int: 'a number',
    bool: 'true or false',
    list: 'a list of strings',
    map: 'a map of strings',
    timestamp: 'a time',
  }[type]
}

/** A list of literals is searched, whatever its length, in one step. */
export function buildList(at: number, items: readonly Expression[]): Expression {
  for (const item of items) requireType(item, 'string')
  if (items.every((item) => item.literal !== undefined))
    return literal('list', new Set(items.map((item) => String(item.literal))), at)
  const evaluate = (values: Values) => {
    const results = items.map((item) => item.evaluate(values))
    return results.find((result) => result instanceof EvaluationError) ?? results.map(String)
  }
  return { type: 'list', at, evaluate }
}

/** A missing entry is the empty text. */
export function selectEntry(map: Expression, name: Expression): Expression {
  requireType(map, 'map')
  requireType(name, 'string')
  return {
    type: 'string',
    at: map.at,
    evaluate: combineResults(map, name, (entries, key) => asMap(entries).get(String(key)) ?? ''),
    isPresent: combineResults(map, name, hasItem),
  }
}

/** Evaluates a function of one expression, whose failure is that of the function. */
export function mapResult(
  expression: Expression,
  compute: (value: Value) => Result,
): (values: Values) => Result {
  return (values) => {
    const result = expression.evaluate(values)
    return result instanceof EvaluationError ? result : compute(result)
  }
}

/** The same for two. */
export function combineResults(
  left: Expression,
  right: Expression,
  compute: (left: Value, right: Value) => Result,
): (values: Values) => Result {
  return (values) => {
    const first = left.evaluate(values)
    if (first instanceof EvaluationError) return first
    const second = right.evaluate(values)
    return second instanceof EvaluationError ? second : compute(first, second)
  }
}

export function hasItem(value: Value, item: Value): boolean {
  const text = String(item)
  if (Array.isArray(value)) return value.includes(text)
  return (value instanceof Set || value instanceof Map) && value.has(text)
}

/** The number of code points of a string, as CEL defines it, or of the items of a list or map. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return countCodePoints(value)
  if (Array.isArray(value)) return value.length
  return value instanceof Set || value instanceof Map ? value.size : 0
}

function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

const noEntries: TextMap = new Map()

function asMap(value: Value): TextMap {
  return value instanceof Map ? value : noEntries
}
