import { columnVisibilityFeature, createColumnHelper, tableFeatures } from '@tanstack/react-table'
import type { Schemas } from '../../api/client.ts'
import { Money } from '../../components/money.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatDuration } from '../../format/number.ts'

export type LoggedRequest = Schemas['LoggedRequest']

export const features = tableFeatures({ columnVisibilityFeature })
const helper = createColumnHelper<typeof features, LoggedRequest>()

const countText = (count: number | null) => (count === null ? '–' : formatCount(count))
const durationText = (ms: number | null) => (ms === null ? '–' : formatDuration(ms))

/** A column of the list: its width in pixels, and whether it is shown before the person chooses. */
interface ColumnLayout {
  label: string
  width: number
  isDefault: boolean
  /** Whether a cell shows a hint on hover. */
  hasHint?: boolean
  /** Numbers stand one below the other. */
  isNumber?: boolean
}

export const layouts: Record<string, ColumnLayout> = {
  created_at: { label: 'Time', width: 160, isDefault: true, hasHint: true },
  status: { label: 'Status', width: 118, isDefault: true },
  error_code: { label: 'Error', width: 130, isDefault: true },
  model: { label: 'Model', width: 215, isDefault: true },
  provider: { label: 'Provider', width: 110, isDefault: true },
  key: { label: 'Key', width: 100, isDefault: true },
  cost: { label: 'Cost', width: 100, isDefault: true, hasHint: true, isNumber: true },
  latency: { label: 'Duration', width: 90, isDefault: true, isNumber: true },
  tokens_prompt: { label: 'Tokens in', width: 100, isDefault: true, isNumber: true },
  tokens_completion: { label: 'Tokens out', width: 110, isDefault: true, isNumber: true },
  first_token: { label: 'First token', width: 100, isDefault: false, isNumber: true },
  tokens_cached: { label: 'Cached', width: 90, isDefault: false, isNumber: true },
  attempts: { label: 'Attempts', width: 85, isDefault: false, isNumber: true },
  format: { label: 'Format', width: 100, isDefault: false },
  member: { label: 'Member', width: 160, isDefault: false },
  workspace: { label: 'Workspace', width: 140, isDefault: false },
  app: { label: 'App', width: 160, isDefault: false },
  session_id: { label: 'Session', width: 160, isDefault: false },
  finish_reason: { label: 'Finish reason', width: 120, isDefault: false },
}

export const defaultVisibility = Object.fromEntries(
  Object.entries(layouts).map(([id, { isDefault }]) => [id, isDefault]),
)

export const columns = helper.columns([
  helper.accessor('created_at', {
    id: 'created_at',
    cell: ({ getValue }) => <Time iso={getValue()} style="short" />,
  }),
  helper.accessor('status', { id: 'status', cell: ({ getValue }) => <StatusBadge status={getValue()} /> }),
  helper.accessor((row) => errorText(row), { id: 'error_code' }),
  helper.accessor((row) => row.model ?? row.requested_model ?? '–', { id: 'model' }),
  helper.accessor((row) => row.provider_name ?? '–', { id: 'provider' }),
  helper.accessor((row) => row.key?.name ?? '–', { id: 'key' }),
  helper.accessor('cost', { id: 'cost', cell: ({ getValue }) => <Money value={getValue()} /> }),
  helper.accessor((row) => durationText(row.latency), { id: 'latency' }),
  helper.accessor((row) => countText(row.tokens_prompt), { id: 'tokens_prompt' }),
  helper.accessor((row) => countText(row.tokens_completion), { id: 'tokens_completion' }),
  helper.accessor((row) => durationText(row.first_token), { id: 'first_token' }),
  helper.accessor((row) => countText(row.tokens_cached), { id: 'tokens_cached' }),
  helper.accessor((row) => String(row.attempts), { id: 'attempts' }),
  helper.accessor((row) => row.format ?? '–', { id: 'format' }),
  helper.accessor((row) => row.user?.name ?? row.user?.id ?? '–', { id: 'member' }),
  helper.accessor((row) => row.workspace.name ?? row.workspace.id, { id: 'workspace' }),
  helper.accessor((row) => row.app?.title ?? row.app?.url ?? '–', { id: 'app' }),
  helper.accessor((row) => row.session_id ?? '–', { id: 'session_id' }),
  helper.accessor((row) => row.finish_reason ?? '–', { id: 'finish_reason' }),
])

function errorText({ error_code, requests }: LoggedRequest): string {
  if (error_code === null) return ''
  return requests > 1 ? `${error_code} × ${requests}` : error_code
}
