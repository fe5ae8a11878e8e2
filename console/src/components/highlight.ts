import bash from 'highlight.js/lib/languages/bash'
import diff from 'highlight.js/lib/languages/diff'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { createLowlight } from 'lowlight'

/** A piece of code, and what it is; null for what has no color. */
export interface CodePiece {
  text: string
  kind: CodeKind | null
}

export type CodeKind = 'keyword' | 'string' | 'number' | 'comment' | 'name'

/** Longer code has one color. */
const maxLength = 20_000
/** So have texts with very long lines: the patterns of languages may take time that grows with the square of a line. */
const unusual = /.{1000}|\s{200}/

const highlighter = createLowlight({ bash, diff, json, python, sql, typescript, xml, yaml })
highlighter.registerAlias({ bash: ['shell', 'console', 'curl'], typescript: ['js', 'jsx', 'javascript'] })

/** The kinds of the highlighter that have a color. */
const kinds: Record<string, CodeKind> = {
  keyword: 'keyword',
  built_in: 'keyword',
  literal: 'keyword',
  tag: 'keyword',
  string: 'string',
  addition: 'string',
  regexp: 'string',
  number: 'number',
  symbol: 'number',
  deletion: 'number',
  comment: 'comment',
  meta: 'comment',
  attr: 'name',
  attribute: 'name',
  name: 'name',
  title: 'name',
  property: 'name',
  section: 'name',
}

/** Pieces that together are the code. Code in an unknown language is one piece. */
export function highlight(code: string, language: string): CodePiece[] {
  if (code.length > maxLength || unusual.test(code) || !highlighter.registered(language))
    return [{ text: code, kind: null }]
  const pieces: CodePiece[] = []
  collect(highlighter.highlight(language, code).children, null, pieces)
  return pieces
}

type Node = ReturnType<typeof highlighter.highlight>['children'][number]

function collect(nodes: readonly Node[], kind: CodeKind | null, pieces: CodePiece[]): void {
  for (const node of nodes) {
    if (node.type === 'text') {
      const last = pieces.at(-1)
      if (last && last.kind === kind) last.text += node.value
      else pieces.push({ text: node.value, kind })
    } else if (node.type === 'element') {
      const names = node.properties.className
      const name = Array.isArray(names) ? String(names[0] ?? '').replace('hljs-', '') : ''
      collect(node.children, kinds[name] ?? kind, pieces)
    }
  }
}
