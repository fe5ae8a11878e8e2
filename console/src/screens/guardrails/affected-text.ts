import type { Schemas } from '../../api/client.ts'
import { formatCount, formatPlural } from '../../format/number.ts'
import type { Guardrail } from './draft.ts'

/** The rules that reject past requests, by their field. */
export const fieldLabels: Record<string, string> = {
  allowed_models: 'Allowed models',
  ignored_models: 'Excluded models',
  allowed_providers: 'Allowed providers',
  ignored_providers: 'Excluded providers',
  allowed_data_regions: 'Allowed regions',
  enable_free_model_training: 'Free endpoints that may train on prompts',
  enable_paid_model_training: 'Paid endpoints that may train on prompts',
  enable_free_model_publication: 'Free endpoints that may publish prompts',
  enforce_zdr: 'Zero data retention',
  limit_usd: 'Spending limit',
}

export function describeAffected(scope: Guardrail['scope'], keys: number, members: number): string {
  if (scope === 'organization') return 'Applies to every request of the organization.'
  if (keys + members === 0) return 'Applies to nothing yet. Assign it to keys or members after saving.'
  const parts = [
    ...(keys > 0 ? [formatPlural(keys, 'key')] : []),
    ...(members > 0 ? [`${formatPlural(members, 'member')} with all of their keys`] : []),
  ]
  return `Applies to ${parts.join(' and ')}, from their next request on.`
}

type Totals = Pick<
  Schemas['GuardrailRequests'],
  'examined' | 'rejected' | 'moved' | 'undecided' | 'is_complete'
>

export function describeRejections(totals: Totals): string {
  const { examined, rejected, moved, undecided, is_complete } = totals
  if (examined === 0) return 'No requests in the last 7 days.'
  const which = is_complete
    ? `Of ${formatPlural(examined, 'request')} in the last 7 days`
    : `Of the newest ${formatPlural(examined, 'request')}`
  const sentences = [
    rejected === 0
      ? `${which}, none would have been rejected.`
      : `${which}, ${formatCount(rejected)} would have been rejected.`,
    ...(moved > 0 ? [`${formatCount(moved)} would have used another endpoint of the model.`] : []),
    ...(undecided > 0
      ? [`${formatPlural(undecided, 'request')} could not be checked: their endpoints are gone.`]
      : []),
  ]
  return sentences.join(' ')
}
