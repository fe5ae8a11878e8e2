import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import type { z } from 'zod'
import { flattenIssues } from './validation-issues.ts'

/** The message names the file, the line and the problem. */
export class YamlError extends Error {}

/** Parses YAML, expands `${NAME}` unless there is no environment, and validates the result. */
export function parseYaml<Shape extends z.ZodType>(
  text: string,
  file: string,
  schema: Shape,
  environment: Readonly<Record<string, string | undefined>> | null,
): z.output<Shape> {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const broken = document.errors[0] ?? document.warnings[0]
  if (broken)
    throw yamlError(file, broken.linePos?.[0].line, broken.message.split('\n')[0] ?? 'cannot be read')
  if (environment) expandVariables(document, file, lines, environment)
  const result = schema.safeParse(toPlainValue(document, file))
  if (result.success) return result.data
  const [problem] = flattenIssues(result.error)
  const path = problem?.path ?? []
  throw yamlError(file, findLine(document, path, lines), `${path.join('.')}: ${problem?.message}`)
}

/** Aliases are resolved here: an undefined one, or one that expands too far, is an error. */
function toPlainValue(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {}
  } catch (error) {
    throw yamlError(file, 1, error instanceof Error ? error.message : 'cannot be read')
  }
}

/** Expands variables in scalars after parsing, so that a value cannot change the structure of the file. */
function expandVariables(
  document: Document,
  file: string,
  lines: LineCounter,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  visit(document, {
    Scalar(position, node) {
      if (position === 'key' || typeof node.value !== 'string') return
      node.value = node.value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_whole, name: string) => {
        const value = environment[name]
        if (value !== undefined) return value
        const line = node.range ? lines.linePos(node.range[0]).line : undefined
        throw yamlError(file, line, `the environment variable ${name} is not set`)
      })
    },
  })
}

/** The line of the deepest part of the path that exists in the file: a missing field has no line. */
function findLine(document: Document, path: (string | number)[], lines: LineCounter): number {
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    const node = isMap(parent)
      ? parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path[length - 1])?.key
      : document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}

function yamlError(file: string, line: number | undefined, problem: string): YamlError {
  return new YamlError(`${file}, line ${line ?? 1}: ${problem}`)
}
