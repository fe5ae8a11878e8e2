import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { client, type Schemas } from '../../../api/client.ts'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { ErrorNotice } from '../../../components/error-notice.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { formatCount, formatPlural } from '../../../format/number.ts'
import { isTryable, type RuleDraft, toAction } from './rule-draft.ts'

type Totals = Schemas['RoutingRuleDryRun']

/** Shows what the draft would have done with the requests of the last week. */
export function DryRun({ draft }: { draft: RuleDraft }) {
  const run = useMutation({
    mutationFn: async () => {
      const rule = {
        when: draft.when.trim(),
        then: toAction(draft),
        ...(draft.workspaceId !== null && { workspace_id: draft.workspaceId }),
      }
      const { data } = await client.POST('/routing-rules/dry-run', { body: { rule, days: 7 } })
      return data?.data
    },
  })
  return (
    <Stack gap="sm">
      <Group>
        <Button
          variant="default"
          disabled={!isTryable(draft)}
          loading={run.isPending}
          onClick={() => run.mutate()}
        >
          Try on the last 7 days
        </Button>
      </Group>
      {run.error !== null && <ErrorNotice error={run.error} />}
      {run.data && <Outcome totals={run.data} />}
    </Stack>
  )
}

function Outcome({ totals }: { totals: Totals }) {
  const { examined, matched, rejected, undecided, is_complete, models, not_recorded, rules } = totals
  const sample = rules[0]?.sample[0]
  return (
    <Stack gap="sm" role="status">
      <Alert color={rejected > 0 ? 'orange' : 'blue'}>
        {examined === 0
          ? 'No requests in the last 7 days.'
          : `${formatCount(matched)} of ${is_complete ? '' : 'the newest '}${formatPlural(examined, 'request')} match${rejected > 0 ? ', and would have been rejected' : ''}.`}
        {undecided > 0 &&
          ` ${formatPlural(undecided, 'request')} could not be checked: the log has no ${not_recorded.map(({ variable }) => variable).join(', ')}.`}
      </Alert>
      {models.length > 0 && (
        <DataTable columns={columns} rows={models} keyOf={({ before }) => before} minWidth={360} />
      )}
      {sample !== undefined && (
        <Text size="sm">
          Newest match:{' '}
          <TextLink to="/requests/$id" params={{ id: sample }}>
            {sample}
          </TextLink>
        </Text>
      )}
    </Stack>
  )
}

const columns: Column<Totals['models'][number]>[] = [
  { header: 'Requested', breaksWords: true, render: ({ before }) => before },
  { header: 'With the rule', breaksWords: true, render: ({ after }) => after.join(', ') },
  { header: 'Requests', isNumber: true, render: ({ requests }) => formatCount(requests) },
]
