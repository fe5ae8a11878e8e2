import type { Plugin } from './plugin.ts'

/** Each endpoint has its own context, so it is applied when the request is encoded: `inference/upstream/fit-context.ts`. */
export const contextCompression: Plugin<'context-compression'> = { id: 'context-compression' }
