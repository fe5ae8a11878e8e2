import { repairJson } from './json-repair.ts'
import type { JsonObject } from './json-values.ts'
import { handleRequests } from './worker-thread.ts'

// The first message only starts the thread.
handleRequests((request, [text = '']) =>
  request === null ? null : repairJson(text, (request as { schema: JsonObject | null }).schema),
)
