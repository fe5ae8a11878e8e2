import { z } from 'zod'
import { printableMessage, printablePattern } from '../../catalog/provider-auth/credential-field.ts'
import { searchModes } from '../../formats/schema/search-engine.ts'
import { usdAmount } from '../../platform/money/money-schema.ts'
import { secondsField, secretField } from '../../platform/validation/setting-fields.ts'
import { searchEngines } from './engines/all.ts'

const maxTimeoutSeconds = 600

const engineIds = searchEngines.map(({ id }) => id)

/** Prices in USD. An absent price is the engine's own. */
const prices = z
  .strictObject({
    /** Price of a search, in every mode that `modes` does not name. */
    search: usdAmount.optional(),
    modes: z.partialRecord(z.enum(searchModes), usdAmount).optional(),
    /** Price of each result after the tenth. */
    additional_result: usdAmount.optional(),
    /** Price of reading a page. */
    page: usdAmount.optional(),
  })
  .prefault({})

const keyed = z.strictObject({
  api_key: secretField(z.string().min(1).regex(printablePattern, printableMessage)).nullable().default(null),
  /** The address, instead of the vendor's. It may be private. */
  base_url: z
    .url({ protocol: /^https?$/ })
    .regex(/^[^?#]*$/, 'must have neither a query nor a fragment')
    .nullable()
    .default(null),
  prices,
})
const keyless = keyed.omit({ api_key: true })

export type EngineSettings = z.output<typeof keyless> & Partial<z.output<typeof keyed>>

/** One section for each engine that is not simulated. */
function buildEngineFields() {
  const fields = searchEngines.flatMap(({ id, api }) =>
    api.kind === 'http' ? [[id, (api.needsKey ? keyed : keyless).prefault({})]] : [],
  )
  return Object.fromEntries(fields) as Record<string, z.ZodPrefault<typeof keyless>>
}

/** Web search and reading of web pages. */
export const webSettings = z
  .strictObject({
    /** The engine of requests that name none; null: the first one with a key or an address. */
    engine: z.enum(engineIds).nullable().default(null),
    engines: z
      .strictObject(buildEngineFields())
      .transform((engines): Readonly<Record<string, EngineSettings>> => engines)
      .prefault({}),
    /** Time limit for the reply of a search engine, in seconds. */
    timeout: secondsField(30, maxTimeoutSeconds),
    fetch: z
      .strictObject({
        /** Whether the gateway itself reads pages. */
        enabled: z.boolean().default(true),
        /** Time limit for one page, redirects included, in seconds. */
        timeout: secondsField(20, maxTimeoutSeconds),
        max_bytes: z
          .int()
          .min(1024)
          .max(32 * 1024 * 1024)
          .default(10 * 1024 * 1024),
        /** Tokens of the text of one page, unless the request sets fewer. */
        max_content_tokens: z.int().min(1).max(1_000_000).default(25_000),
      })
      .prefault({}),
  })
  .prefault({})

export type WebSettings = z.output<typeof webSettings>
