import { z } from 'zod'
import { RunError } from './run-error.ts'

const common = {
  id: z.string().min(1).max(200).optional(),
  /** The system prompt. */
  system: z.string().max(100_000).optional(),
  max_tokens: z.int().min(1).max(1_000_000).optional(),
}
const prompt = z.string().min(1).max(1_000_000)
const maxChoices = 26

/** A line of a task file. */
const task = z.discriminatedUnion('kind', [
  z.strictObject({
    ...common,
    kind: z.literal('multiple_choice'),
    question: prompt,
    choices: z.array(z.string().min(1)).min(2).max(maxChoices),
    answer: z.string().regex(/^[A-Z]$/, 'must be the letter of a choice, such as B'),
  }),
  z.strictObject({
    ...common,
    kind: z.literal('exact_match'),
    prompt,
    answer: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(100)]),
    case_sensitive: z.boolean().optional(),
  }),
  z.strictObject({
    ...common,
    kind: z.literal('json_schema'),
    prompt,
    schema: z.record(z.string(), z.unknown()),
    /** Values that the reply must have, besides matching the schema. */
    expected: z.record(z.string(), z.unknown()).optional(),
  }),
  z.strictObject({
    ...common,
    kind: z.literal('code'),
    prompt,
    language: z.enum(['python', 'javascript', 'bash']),
    /** A program that includes or imports `solution` and fails if it is wrong. */
    tests: z.string().min(1).max(100_000),
  }),
])

export type Task = z.output<typeof task>
export type CodeTask = Extract<Task, { kind: 'code' }>

const maxTasks = 100_000

/** One JSON object per line. */
export function parseTasks(text: string): Task[] {
  const lines = text.split('\n').map((line) => line.trim())
  const tasks = lines.flatMap((line, index) => (line === '' ? [] : parseTask(line, index + 1)))
  if (tasks.length === 0) throw new RunError('The file has no tasks.')
  if (tasks.length > maxTasks) throw new RunError(`The file has more than ${maxTasks} tasks.`)
  return tasks
}

function parseTask(line: string, number: number): Task {
  const { data, error } = task.safeParse(parseJson(line, number))
  if (!data) {
    const [issue] = error.issues
    throw new RunError(`Line ${number}: ${issue?.path.join('.') || 'kind'}: ${issue?.message}`)
  }
  if (data.kind === 'multiple_choice' && letterIndex(data.answer) >= data.choices.length)
    throw new RunError(`Line ${number}: answer: there is no choice ${data.answer}`)
  if (data.kind === 'json_schema') assertSchema(data.schema, number)
  return data
}

function parseJson(line: string, number: number): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new RunError(`Line ${number} is not valid JSON.`)
  }
}

function assertSchema(schema: Record<string, unknown>, number: number): void {
  try {
    z.fromJSONSchema(schema)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new RunError(`Line ${number}: schema: it cannot be used: ${reason}`)
  }
}

function letterIndex(letter: string): number {
  return letter.charCodeAt(0) - 'A'.charCodeAt(0)
}

const letterInstruction = 'Reply with the letter of the right choice only.'
const codeInstruction = 'Reply with the code only, in one fenced block.'

/** The body of a chat completion for a task, without its model. */
export function buildTaskBody(one: Task): Record<string, unknown> {
  const messages = [
    ...(one.system === undefined ? [] : [{ role: 'system', content: one.system }]),
    { role: 'user', content: formatPrompt(one) },
  ]
  return {
    messages,
    ...(one.max_tokens !== undefined && { max_tokens: one.max_tokens }),
    ...(one.kind === 'json_schema' && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'reply', schema: one.schema, strict: true },
      },
    }),
  }
}

/** The prompt as the task file has it, for inspection. */
export function promptOf(one: Task): string {
  return one.kind === 'multiple_choice' ? one.question : one.prompt
}

function formatPrompt(one: Task): string {
  switch (one.kind) {
    case 'multiple_choice': {
      const choices = one.choices.map((choice, index) => `${String.fromCharCode(65 + index)}) ${choice}`)
      return [one.question, ...choices, letterInstruction].join('\n')
    }
    case 'code':
      return `${one.prompt}\n${codeInstruction}`
    default:
      return one.prompt
  }
}
