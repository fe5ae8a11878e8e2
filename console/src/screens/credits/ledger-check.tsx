import { Alert, Button, List, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Fields } from '../../components/fields.tsx'
import { CheckIcon, WarningIcon } from '../../components/icons.tsx'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { formatCount } from '../../format/number.ts'

export const ledgerCheckCall = { method: 'POST', path: '/ledger/check' }

/** Verifies the ledger of the whole installation when the person asks for it. */
export function LedgerCheck() {
  const check = api.useMutation('post', '/ledger/check')
  return (
    <Panel
      title="Check the ledger"
      description="Verifies that no amount was lost, charged twice or held forever, like the command check-ledger. The server keeps serving requests."
      actions={
        <Button size="xs" variant="default" loading={check.isPending} onClick={() => check.mutate({})}>
          Check now
        </Button>
      }
    >
      {check.error !== null && <ErrorNotice error={check.error} />}
      {check.data && <Result result={check.data.data} />}
    </Panel>
  )
}

function Result({ result: { sound, findings, figures } }: { result: Schemas['LedgerCheck'] }) {
  const sums: [string, ReactNode][] = [
    ['Credits', <Money key="credits" value={figures.credits_usd} />],
    ['Spent', <Money key="spent" value={figures.spent_usd} />],
    ['Held', <Money key="held" value={figures.held_usd} />],
    ['Balance', <Money key="balance" value={figures.balance_usd} />],
    ['Entries', formatCount(figures.entries)],
    ['Requests', formatCount(figures.generations)],
    ['Holds', formatCount(figures.holds)],
    ['Interrupted without a charge', formatCount(figures.unrecovered)],
  ]
  return (
    <Stack gap="sm">
      <Alert
        role="status"
        color={sound ? 'teal' : 'red'}
        icon={sound ? <CheckIcon /> : <WarningIcon />}
        title={sound ? 'The ledger is sound' : 'The ledger violates an invariant'}
      >
        {sound
          ? 'Every invariant holds.'
          : 'Make a backup of the database, change nothing, and report the violations below.'}
      </Alert>
      <Fields fields={sums} />
      <DataTable columns={columns} rows={findings} keyOf={({ statement }) => statement} minWidth={560} />
    </Stack>
  )
}

const columns: Column<Schemas['LedgerCheck']['findings'][number]>[] = [
  { header: 'Invariant', render: ({ invariant }) => invariant },
  { header: 'Statement', render: ({ statement }) => statement },
  { header: 'Rows checked', isNumber: true, render: ({ looked_at }) => formatCount(looked_at) },
  {
    header: 'Violations',
    breaksWords: true,
    render: ({ violations }) =>
      violations.length === 0 ? (
        'none'
      ) : (
        <List size="sm">
          {violations.map((violation) => (
            <List.Item key={violation}>
              <Text size="sm">{violation}</Text>
            </List.Item>
          ))}
        </List>
      ),
  },
]
