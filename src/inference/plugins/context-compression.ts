import type { Plugin } from './plugin.ts'

/**
 * A plugin that is applied when the request is encoded, because each endpoint has its own context:
 * `inference/upstream/fit-context.ts`.
 */
export const contextCompression: Plugin<'context-compression'> = { id: 'context-compression' }
