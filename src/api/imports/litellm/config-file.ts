import { z } from 'zod'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { SourceError } from '../source.ts'

const object = z.record(z.string(), z.unknown())
const section = object.nullish().transform((value) => value ?? {})
const list = z
  .array(z.unknown())
  .max(10_000)
  .nullish()
  .transform((value) => value ?? [])

/** The sections of LiteLLM's config.yaml. Their fields are read one by one, so that one mistake is one skipped item. */
const configFile = z.looseObject({
  model_list: list,
  credential_list: list,
  router_settings: section,
  litellm_settings: section,
  general_settings: section,
  environment_variables: section,
})
export type ConfigFile = z.output<typeof configFile>

export const emptyConfig: ConfigFile = configFile.parse({})

export function toConfigFile(name: string, value: unknown): ConfigFile {
  const result = configFile.safeParse(value)
  if (result.success) return result.data
  const [issue] = flattenIssues(result.error)
  throw new SourceError(`${name}: ${issue?.path.join('.')} ${issue?.message}`)
}

/** Variables are texts, also those that hold a number. */
const number = z.coerce
  .number()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? undefined)
  .catch(undefined)
const text = z.string().min(1).optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)

const prices = {
  input_cost_per_token: number,
  output_cost_per_token: number,
  cache_read_input_token_cost: number,
  cache_creation_input_token_cost: number,
  output_cost_per_reasoning_token: number,
}

/** The facts of a deployment that have a counterpart. */
export const deploymentSchema = z.object({
  model_name: z.string().min(1).max(256),
  litellm_params: z.object({
    model: z.string().min(1).max(256),
    custom_llm_provider: text,
    api_key: text,
    api_base: text,
    base_url: text,
    litellm_credential_name: text,
    rpm: number,
    tpm: number,
    timeout: number,
    stream_timeout: number,
    max_retries: number,
    weight: number,
    order: number,
    ...prices,
  }),
  model_info: z
    .object({
      mode: text,
      base_model: text,
      max_input_tokens: number,
      max_tokens: number,
      max_output_tokens: number,
      supports_vision: flag,
      supports_function_calling: flag,
      ...prices,
    })
    .nullish(),
})
export type ConfigDeployment = z.output<typeof deploymentSchema>

export const credentialSchema = z.object({
  credential_name: z.string().min(1),
  credential_values: z.object({ api_key: text, api_base: text }),
})
