import { z } from 'zod'
import type { CodeRunner } from './code-runner.ts'
import { RunError } from './run-error.ts'
import type { Task } from './task.ts'

/** Whether a reply solves a task. */
export async function gradeReply(task: Task, reply: string, codeRunner: CodeRunner | null): Promise<boolean> {
  switch (task.kind) {
    case 'multiple_choice':
      return findLetter(reply) === task.answer
    case 'exact_match':
      return matchesAnswer(reply, task.answer, task.case_sensitive ?? false)
    case 'json_schema':
      return matchesSchema(reply, task.schema, task.expected ?? {})
    case 'code':
      if (!codeRunner) throw new RunError('Tasks of the kind code need containers.')
      return codeRunner.passesTests(task, extractCode(reply))
  }
}

/** The letter a reply begins with or states as its answer; of several statements the last. */
export function findLetter(reply: string): string | null {
  const stated = [...reply.matchAll(/answer(?:\s+is)?\s*:?\s*[*_([{"'`]*([A-Z])\b/gi)].at(-1)?.[1]
  const first = /^[\s*_([{"'`]*([A-Z])(?![a-z])\b/.exec(reply)?.[1]
  return (stated ?? first)?.toUpperCase() ?? null
}

function matchesAnswer(reply: string, answer: string | readonly string[], isCaseSensitive: boolean): boolean {
  const normalize = (text: string) => {
    const plain = text.trim().replace(/\s+/g, ' ')
    return isCaseSensitive ? plain : plain.toLowerCase()
  }
  return [answer].flat().some((one) => normalize(one) === normalize(reply))
}

function matchesSchema(
  reply: string,
  schema: Record<string, unknown>,
  expected: Record<string, unknown>,
): boolean {
  const value = parseJsonReply(reply)
  if (value === undefined || !z.fromJSONSchema(schema).safeParse(value).success) return false
  return Bun.deepMatch(expected, Object(value))
}

/** Undefined if it is not JSON. A fenced block is accepted. */
function parseJsonReply(reply: string): unknown {
  try {
    return JSON.parse(extractCode(reply))
  } catch {
    return undefined
  }
}

/** The first fenced block, or the whole reply. */
export function extractCode(reply: string): string {
  return /^```[^\n]*\n([\s\S]*?)^```/m.exec(reply)?.[1] ?? reply.trim()
}
