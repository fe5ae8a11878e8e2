// Preloaded by `record.ts`: counts the calls of every function of `src`.

import { relative } from 'node:path'
import { type Node, parse } from 'acorn'
import { plugin } from 'bun'

const source = `${process.cwd()}/src/`
const transpiler = new Bun.Transpiler({ loader: 'ts', target: 'bun' })

export interface SourceFunction {
  file: string
  name: string
}

/** All functions of the modules that were loaded; their indices are what `enter` is called with. */
export const sourceFunctions: SourceFunction[] = []
let entered: number[] | null = null

Object.assign(globalThis, { __enter: (index: number) => entered?.push(index) })

/** The functions entered while `work` runs, in order. */
export async function recordEntered(work: () => Promise<void>): Promise<number[]> {
  const recorded: number[] = []
  entered = recorded
  try {
    await work()
  } finally {
    entered = null
  }
  return recorded
}

plugin({
  name: 'entered-functions',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await Bun.file(path).text()
      const code = transpiler.transformSync(text)
      return {
        contents: path.startsWith(source) ? instrument(code, relative(source, path)) : code,
        loader: 'js',
      }
    })
  },
})

interface Insertion {
  at: number
  text: string
}

interface FunctionNode extends Node {
  id?: { name: string } | null
  body: Node & { body?: Node[] }
  expression?: boolean
}

function instrument(code: string, file: string): string {
  const insertions: Insertion[] = []
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), '', (node, name) => {
    const { body, expression } = node
    const call = `__enter(${sourceFunctions.push({ file, name: node.id?.name ?? name }) - 1})`
    if (!expression) insertions.push({ at: body.start + 1, text: `${call};` })
    else insertions.push({ at: body.start, text: `(${call},` }, { at: body.end, text: ')' })
  })
  let result = code
  for (const { at, text } of insertions.sort((a, b) => b.at - a.at))
    result = result.slice(0, at) + text + result.slice(at)
  return result
}

/** `name` is that of the variable, property or method that holds the function. */
function visit(node: Node, name: string, onFunction: (node: FunctionNode, name: string) => void): void {
  if (/^(?:Arrow)?Function(?:Expression|Declaration)$/.test(node.type)) onFunction(node as FunctionNode, name)
  const own = findName(node) ?? (node.type === 'CallExpression' ? '' : name)
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (child && typeof child === 'object' && typeof child.type === 'string') visit(child, own, onFunction)
}

function findName(node: Node): string | undefined {
  const { key, id } = node as Node & { key?: { name?: string }; id?: { name?: string } | null }
  return key?.name ?? id?.name
}
