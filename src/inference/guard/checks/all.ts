import { azureContentSafety } from './azure-content-safety.ts'
import { bedrockGuardrails } from './bedrock-guardrails.ts'
import { lakera } from './lakera.ts'
import { presidio } from './presidio.ts'
import type { CheckService } from './service.ts'
import { webhook } from './webhook.ts'

/** Every kind of service that a guardrail can send texts to. */
export const checkServices: readonly CheckService[] = [
  webhook,
  presidio,
  bedrockGuardrails,
  azureContentSafety,
  lakera,
]

export function findCheckService(type: string): CheckService | undefined {
  return checkServices.find((service) => service.type === type)
}
