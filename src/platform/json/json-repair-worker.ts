import { handleRequests } from '../concurrency/worker-thread.ts'
import { repairJson } from './json-repair.ts'
import type { JsonObject } from './json-values.ts'

// The first message only starts the thread.
handleRequests((request, [text = '']) =>
  request === null ? null : repairJson(text, (request as { schema: JsonObject | null }).schema),
)
