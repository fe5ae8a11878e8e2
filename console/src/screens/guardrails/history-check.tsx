import { Button, Group, Select, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { formatCount } from '../../format/number.ts'
import type { Draft } from './draft.ts'

const periods = [
  { value: '1', label: 'The last day' },
  { value: '7', label: 'The last seven days' },
  { value: '30', label: 'The last thirty days' },
]

/** Requests that a call examines. */
const examined = 500

/** Shows the effect that the draft would have had on past requests. */
export function HistoryCheck({ draft, workspaceId }: { draft: Draft | null; workspaceId: string }) {
  const [days, setDays] = useState('7')
  const check = useMutation({ mutationFn: (guardrail: Draft) => checkHistory(guardrail, workspaceId, days) })
  const found = check.data
  return (
    <Panel
      title="Check against recent requests"
      description={`The newest ${examined} stored prompts of the workspace, if it stores prompts. Only totals are shown, and the check is in the audit log.`}
    >
      <Group align="flex-end">
        <Select
          label="Period"
          data={periods}
          allowDeselect={false}
          value={days}
          onChange={(value) => value && setDays(value)}
        />
        <Button
          variant="default"
          disabled={draft === null}
          loading={check.isPending}
          onClick={() => draft && check.mutate(draft)}
        >
          Check
        </Button>
      </Group>
      {check.error !== null && <ErrorNotice error={check.error} />}
      {found && (
        <div role="status">
          <Text size="sm">
            {found.examined === 0
              ? 'No stored prompts in this period. Turn on "Store prompts and replies" in the settings of the workspace to collect some.'
              : `Of ${formatCount(found.examined)} prompts, ${formatCount(found.blocked)} would have been blocked, ${formatCount(found.redacted)} redacted and ${formatCount(found.flagged)} flagged.`}
          </Text>
          {found.rules.length > 0 && (
            <DataTable
              columns={columns}
              rows={found.rules}
              keyOf={({ rule, action }) => `${rule} ${action}`}
              minWidth={400}
            />
          )}
        </div>
      )}
    </Panel>
  )
}

type Totals = NonNullable<Awaited<ReturnType<typeof checkHistory>>>

async function checkHistory(guardrail: Draft, workspace_id: string, days: string) {
  const body = { guardrail, workspace_id, days: Number(days), limit: examined }
  const { data } = await client.POST('/guardrails/preview/history', { body })
  return data?.data
}

const columns: Column<Totals['rules'][number]>[] = [
  { header: 'Rule', breaksWords: true, render: ({ rule }) => rule },
  { header: 'Effect', render: ({ action }) => action },
  { header: 'Requests', isNumber: true, render: ({ requests }) => formatCount(requests) },
  { header: 'Matches', isNumber: true, render: ({ matches }) => formatCount(matches) },
]
