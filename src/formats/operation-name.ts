import type { TaskName } from './vocabulary.ts'

/** Operation names of OpenTelemetry's GenAI semantic conventions; a task they do not name has its own. */
const operationNames: Partial<Record<TaskName, string>> = { text: 'chat' }

/** What traces and metrics call a task. */
export function operationOf(task: TaskName): string {
  return operationNames[task] ?? task
}
