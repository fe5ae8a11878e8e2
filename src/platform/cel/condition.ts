import { CelError, type Token, tokenize } from './tokens.ts'

/**
 * A subset of the Common Expression Language: comparisons, logic, `in`, and a few functions of strings. Types are
 * checked when a condition is compiled. It has no loops and no regular expressions, so that each part is evaluated at
 * most once.
 */
export type ValueType = 'string' | 'int' | 'bool' | 'list'
export type Value = string | number | boolean | readonly string[]
export type Values = Readonly<Record<string, Value>>
export type Condition = (values: Values) => boolean

interface Expression {
  type: ValueType
  at: number
  evaluate(values: Values): Value
}

const maxDepth = 32

/** Throws a CelError unless the text is an expression over these variables that is true or false. */
export function compileCondition(text: string, variables: Readonly<Record<string, ValueType>>): Condition {
  const parser = new Parser(tokenize(text), variables)
  const { evaluate } = requireType(parser.parse(), 'bool')
  return (values) => evaluate(values) === true
}

type Operator = (left: Value, right: Value) => boolean

const orderings: Record<string, Operator> = {
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

/** Called as `subject.startsWith('x')`. */
const stringMethods: Record<string, (text: string, part: string) => boolean> = {
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
}

const supportedFunctions = 'startsWith, endsWith, contains and size'

class Parser {
  readonly #tokens: Token[]
  readonly #variables: Readonly<Record<string, ValueType>>
  #position = 0
  #depth = 0

  constructor(tokens: Token[], variables: Readonly<Record<string, ValueType>>) {
    this.#tokens = tokens
    this.#variables = variables
  }

  parse(): Expression {
    const expression = this.#parseTernary()
    if (this.#next.kind !== 'end') throw this.#unexpected()
    return expression
  }

  get #next(): Token {
    return this.#tokens[this.#position] ?? { kind: 'end', text: '', at: 0 }
  }

  #unexpected(): CelError {
    const { kind, text, at } = this.#next
    return new CelError(kind === 'end' ? 'the condition ends too soon' : `unexpected ${text}`, at)
  }

  #accept(...texts: string[]): Token | undefined {
    const token = this.#next
    const isOperator = token.kind === 'symbol' || (token.kind === 'name' && token.text === 'in')
    if (!isOperator || !texts.includes(token.text)) return undefined
    this.#position++
    return token
  }

  #expect(text: string): void {
    if (!this.#accept(text)) throw this.#unexpected()
  }

  #nest<T>(parse: () => T): T {
    if (++this.#depth > maxDepth)
      throw new CelError(`nested more than ${maxDepth} levels deep`, this.#next.at)
    const result = parse()
    this.#depth--
    return result
  }

  #parseTernary(): Expression {
    return this.#nest(() => {
      const test = this.#parseChain(0)
      if (!this.#accept('?')) return test
      requireType(test, 'bool')
      const yes = this.#parseChain(0)
      this.#expect(':')
      const no = requireType(this.#parseTernary(), yes.type)
      return {
        type: yes.type,
        at: test.at,
        evaluate: (values) => (test.evaluate(values) ? yes : no).evaluate(values),
      }
    })
  }

  /** Operators from the weakest to the strongest. */
  #parseChain(level: number): Expression {
    const operators = [['||'], ['&&'], ['==', '!=', '<', '<=', '>', '>=', 'in']][level]
    if (!operators) return this.#parseUnary()
    let left = this.#parseChain(level + 1)
    for (;;) {
      const operator = this.#accept(...operators)
      if (!operator) return left
      left = combine(operator, left, this.#parseChain(level + 1))
    }
  }

  #parseUnary(): Expression {
    const operator = this.#accept('!')
    if (!operator) return this.#parseMember()
    const operand = requireType(
      this.#nest(() => this.#parseUnary()),
      'bool',
    )
    return { type: 'bool', at: operator.at, evaluate: (values) => !operand.evaluate(values) }
  }

  #parseMember(): Expression {
    let target = this.#parsePrimary()
    while (this.#accept('.')) {
      const name = this.#next
      if (name.kind !== 'name') throw this.#unexpected()
      this.#position++
      this.#expect('(')
      target = callMethod(name, target, this.#parseList(')'))
    }
    return target
  }

  #parsePrimary(): Expression {
    const token = this.#next
    this.#position++
    if (token.kind === 'string') return literal('string', token.text, token.at)
    if (token.kind === 'int') return parseInteger(token)
    if (token.kind === 'name') return this.#parseName(token)
    if (token.text === '(') {
      const inner = this.#parseTernary()
      this.#expect(')')
      return inner
    }
    if (token.text === '[') return buildList(token, this.#parseList(']'))
    this.#position--
    throw this.#unexpected()
  }

  #parseName(token: Token): Expression {
    const { text, at } = token
    if (text === 'true' || text === 'false') return literal('bool', text === 'true', at)
    if (this.#accept('(')) return callFunction(token, this.#parseList(')'))
    const type = Object.hasOwn(this.#variables, text) ? this.#variables[text] : undefined
    if (type === undefined) {
      const known = Object.keys(this.#variables).join(', ')
      throw new CelError(`unknown variable ${text}; the variables are ${known}`, at)
    }
    return { type, at, evaluate: (values) => values[text] ?? '' }
  }

  #parseList(end: string): Expression[] {
    const items: Expression[] = []
    if (this.#accept(end)) return items
    do items.push(this.#parseTernary())
    while (this.#accept(','))
    this.#expect(end)
    return items
  }
}

function literal(type: ValueType, value: Value, at: number): Expression {
  return { type, at, evaluate: () => value }
}

function parseInteger({ text, at }: Token): Expression {
  if (text.length > 9) throw new CelError('a number has more than nine digits', at)
  return literal('int', Number(text), at)
}

function buildList({ at }: Token, items: Expression[]): Expression {
  for (const item of items) requireType(item, 'string')
  return { type: 'list', at, evaluate: (values) => items.map((item) => String(item.evaluate(values))) }
}

function requireType(expression: Expression, type: ValueType): Expression {
  if (expression.type === type) return expression
  throw new CelError(`expected ${nameOf(type)}, not ${nameOf(expression.type)}`, expression.at)
}

function nameOf(type: ValueType): string {
  return { string: 'a string', int: 'a number', bool: 'true or false', list: 'a list of strings' }[type]
}

function combine({ text, at }: Token, left: Expression, right: Expression): Expression {
  const build = (evaluate: Expression['evaluate']): Expression => ({ type: 'bool', at, evaluate })
  if (text === '&&' || text === '||') {
    requireType(left, 'bool')
    requireType(right, 'bool')
    return text === '&&'
      ? build((values) => left.evaluate(values) && right.evaluate(values))
      : build((values) => left.evaluate(values) || right.evaluate(values))
  }
  if (text === 'in') {
    requireType(left, 'string')
    requireType(right, 'list')
    return build((values) => listOf(right.evaluate(values)).includes(String(left.evaluate(values))))
  }
  const compare = orderings[text]
  if (compare) {
    requireType(left, 'int')
    requireType(right, 'int')
    return build((values) => compare(left.evaluate(values), right.evaluate(values)))
  }
  requireType(right, left.type)
  if (left.type === 'list') throw new CelError('lists cannot be compared; use in or size', at)
  const isEqual = text === '=='
  return build((values) => (left.evaluate(values) === right.evaluate(values)) === isEqual)
}

function listOf(value: Value): readonly string[] {
  return typeof value === 'object' ? value : []
}

function callMethod(name: Token, target: Expression, args: Expression[]): Expression {
  if (name.text === 'size' && args.length === 0) return callFunction(name, [target])
  const method = Object.hasOwn(stringMethods, name.text) ? stringMethods[name.text] : undefined
  const [argument, another] = args
  if (!method) throw unknownFunction(name)
  if (!argument || another) throw new CelError(`${name.text} takes one string`, name.at)
  requireType(target, 'string')
  requireType(argument, 'string')
  return {
    type: 'bool',
    at: name.at,
    evaluate: (values) => method(String(target.evaluate(values)), String(argument.evaluate(values))),
  }
}

function callFunction(name: Token, args: Expression[]): Expression {
  if (name.text !== 'size') throw unknownFunction(name)
  const [argument, another] = args
  if (!argument || another || (argument.type !== 'string' && argument.type !== 'list'))
    throw new CelError('size takes one string or list', name.at)
  return { type: 'int', at: name.at, evaluate: (values) => sizeOf(argument.evaluate(values)) }
}

/** The number of code points of a string, as CEL defines it, or of the items of a list. */
function sizeOf(value: Value): number {
  return typeof value === 'string' ? [...value].length : listOf(value).length
}

function unknownFunction({ text, at }: Token): CelError {
  const problem =
    text === 'matches'
      ? 'regular expressions are not supported'
      : `unknown function ${text}; the functions are ${supportedFunctions}`
  return new CelError(problem, at)
}
