import { z } from 'zod'
import { minCacheThreshold } from '../../formats/schema/cache-fields.ts'
import { secondsField } from '../../platform/validation/setting-fields.ts'

export const cacheSettings = {
  /** Breakpoints for the prompt caches of providers, where prompts are seen to begin alike. */
  prompt_caching: z
    .strictObject({
      enabled: z.boolean().default(true),
      /** Beginnings of prompts that a node remembers. */
      prefixes: z.int().min(0).max(1_000_000).default(50_000),
    })
    .prefault({}),
  /** Replies cached in memory, on this node, for identical requests. */
  response_cache: z
    .strictObject({
      enabled: z.boolean().default(true),
      /** Size of all entries. */
      bytes: z
        .int()
        .min(0)
        .default(64 * 1024 * 1024),
      /** Size of one entry: a longer reply is not cached. */
      entry_bytes: z
        .int()
        .min(0)
        .default(4 * 1024 * 1024),
    })
    .prefault({}),
  /** Replies stored in the database, for similar requests. */
  semantic_cache: z
    .strictObject({
      /** The model that turns texts into vectors. Null: there is no semantic cache. */
      model: z.string().min(1).nullable().default(null),
      /** The cosine similarity that a hit needs, unless the request or its preset sets another. */
      threshold: z.number().min(minCacheThreshold).max(1).default(0.95),
      /** Entries of one scope, which a request is compared with. */
      max_entries: z.int().min(1).max(10_000).default(1000),
      /** Entries of one workspace. */
      workspace_entries: z.int().min(1).max(1_000_000).default(10_000),
      /** Size of one entry: a longer reply is not stored. */
      entry_bytes: z
        .int()
        .min(1024)
        .max(1024 * 1024)
        .default(64 * 1024),
      /** Seconds for the embedding of a text. */
      timeout: secondsField(2, 60),
    })
    .prefault({}),
}
