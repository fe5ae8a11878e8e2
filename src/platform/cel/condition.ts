import {
  buildList,
  EvaluationError,
  type Expression,
  literal,
  mapResult,
  requireType,
  selectEntry,
  type Values,
  type ValueType,
} from './expression.ts'
import { callFunction, callMethod, combine } from './functions.ts'
import { CelError, type Token, tokenize } from './tokens.ts'

/**
 * A subset of the Common Expression Language: comparisons, logic, `in`, and a few functions of strings and times. Types
 * are checked when a condition is compiled. It has no loops and no regular expressions, so that each part is evaluated
 * at most once.
 */
/** Throws an EvaluationError if it cannot be evaluated for these values. */
export type Condition = (values: Values) => boolean

export interface CompiledCondition {
  test: Condition
  /** The variables that it names. */
  reads: ReadonlySet<string>
}

const maxDepth = 32

/** Throws a CelError unless the text is an expression over these variables that is true or false. */
export function compileCondition(text: string, variables: Readonly<Record<string, ValueType>>): Condition {
  return compileWithReads(text, variables).test
}

export function compileWithReads(
  text: string,
  variables: Readonly<Record<string, ValueType>>,
): CompiledCondition {
  const parser = new Parser(tokenize(text), variables)
  const { evaluate } = requireType(parser.parse(), 'bool')
  const test = (values: Values) => {
    const result = evaluate(values)
    if (result instanceof EvaluationError) throw result
    return result === true
  }
  return { test, reads: parser.reads }
}

class Parser {
  readonly #tokens: Token[]
  readonly #variables: Readonly<Record<string, ValueType>>
  readonly reads = new Set<string>()
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
        evaluate: (values) => {
          const result = test.evaluate(values)
          return result instanceof EvaluationError ? result : (result ? yes : no).evaluate(values)
        },
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
    return { type: 'bool', at: operator.at, evaluate: mapResult(operand, (value) => !value) }
  }

  #parseMember(): Expression {
    let target = this.#parsePrimary()
    for (;;) {
      const access = this.#accept('.', ...(target.type === 'map' ? ['['] : []))
      if (!access) return target
      target = access.text === '.' ? this.#parseDot(target) : this.#parseIndex(target)
    }
  }

  #parseDot(target: Expression): Expression {
    const name = this.#next
    if (name.kind !== 'name') throw this.#unexpected()
    this.#position++
    const isCall = this.#next.kind === 'symbol' && this.#next.text === '('
    if (target.type === 'map' && !isCall) return selectEntry(target, literal('string', name.text, name.at))
    this.#expect('(')
    return callMethod(name, target, this.#parseList(')'))
  }

  #parseIndex(target: Expression): Expression {
    const name = this.#parseTernary()
    this.#expect(']')
    return selectEntry(target, name)
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
    if (token.text === '[') return buildList(token.at, this.#parseList(']'))
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
    this.reads.add(text)
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

function parseInteger({ text, at }: Token): Expression {
  if (text.length > 9) throw new CelError('a number has more than nine digits', at)
  return literal('int', Number(text), at)
}
