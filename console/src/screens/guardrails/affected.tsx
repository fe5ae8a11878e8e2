import { Alert, Loader, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMemberNames } from '../../components/use-members.ts'
import { formatCount, formatPlural } from '../../format/number.ts'
import { describeAffected, describeRejections, fieldLabels } from './affected-text.ts'
import type { Draft, Guardrail } from './draft.ts'
import { keyAssignmentsOptions } from './key-assignments.tsx'
import { memberAssignmentsOptions } from './member-assignments.tsx'

type Totals = Schemas['GuardrailRequests']

interface AffectedProps {
  guardrail: Guardrail
  draft: Draft
}

/** The keys and members that a draft applies to, and what it would have rejected in the last week. */
export function Affected({ guardrail, draft }: AffectedProps) {
  const keys = useQuery(keyAssignmentsOptions(guardrail.id)).data?.total_count
  const members = useQuery(memberAssignmentsOptions(guardrail.id)).data?.total_count
  const isAssigned = keys !== undefined && members !== undefined && keys + members > 0
  return (
    <Stack gap="sm">
      <Text size="sm">
        {keys === undefined || members === undefined ? '…' : describeAffected(guardrail.scope, keys, members)}
      </Text>
      {(isAssigned || guardrail.scope === 'organization') && <LastWeek guardrail={guardrail} draft={draft} />}
    </Stack>
  )
}

function LastWeek({ guardrail: { id, scope }, draft }: AffectedProps) {
  const query = useQuery({
    ...api.queryOptions('post', '/guardrails/preview/requests', {
      body: { guardrail: draft, ...(scope === 'workspace' && { guardrail_id: id }), days: 7 },
    }),
    retry: false,
  })
  if (query.error !== null) return <ErrorNotice error={query.error} />
  if (!query.data) {
    return (
      <Text size="sm" component="div">
        <Loader size="xs" /> Checking the requests of the last 7 days…
      </Text>
    )
  }
  return <Outcome totals={query.data.data} isDryRun={draft.dry_run === true} />
}

function Outcome({ totals, isDryRun }: { totals: Totals; isDryRun: boolean }) {
  const { rejected, moved, rules } = totals
  return (
    <Stack gap="sm" role="status">
      <Alert color={rejected > 0 ? 'orange' : 'teal'}>
        {describeRejections(totals)}
        {isDryRun && rejected + moved > 0 && ' As a dry run, it would only have recorded this.'}
      </Alert>
      {rules.length > 0 && (
        <DataTable columns={ruleColumns} rows={rules} keyOf={({ field }) => field} minWidth={320} />
      )}
      <RejectedOf totals={totals} />
      <Text size="xs" c="dimmed">
        Models, providers, regions, data policy and budget are checked. To try filters, use “Check against
        recent requests”.
      </Text>
    </Stack>
  )
}

const ruleColumns: Column<Totals['rules'][number]>[] = [
  { header: 'Rule', render: ({ field }) => fieldLabels[field] ?? field },
  { header: 'Rejected', isNumber: true, render: ({ rejected }) => formatCount(rejected) },
  { header: 'Other endpoint', isNumber: true, render: ({ moved }) => formatCount(moved) },
]

interface AffectedRow {
  id: string
  name: string
  requests: number
  rejected: number
}

/** Shown keys and members each. */
const maxShown = 5

function RejectedOf({ totals }: { totals: Totals }) {
  const affected = ({ rejected }: { rejected: number }) => rejected > 0
  const members = totals.members.filter(affected).slice(0, maxShown)
  const nameOf = useMemberNames(members.map(({ user_id }) => user_id))
  const rows: AffectedRow[] = [
    ...totals.keys.filter(affected).map(({ api_key_hash, api_key_name, requests, rejected }) => ({
      ...{ id: `key ${api_key_hash}`, requests, rejected },
      name: `Key ${api_key_name ?? '(deleted)'}`,
    })),
  ]
    .slice(0, maxShown)
    .concat(
      members.flatMap(({ user_id, requests, rejected }) =>
        user_id === null ? [] : [{ id: user_id, name: nameOf(user_id), requests, rejected }],
      ),
    )
  if (rows.length === 0) return null
  return <DataTable columns={affectedColumns} rows={rows} keyOf={({ id }) => id} minWidth={320} />
}

const affectedColumns: Column<AffectedRow>[] = [
  { header: 'Affected', breaksWords: true, render: ({ name }) => name },
  {
    header: 'Rejected',
    isNumber: true,
    render: ({ rejected, requests }) => `${formatCount(rejected)} of ${formatPlural(requests, 'request')}`,
  },
]
