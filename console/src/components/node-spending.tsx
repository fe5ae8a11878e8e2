import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { type BudgetNode, textsOf } from './budget-intervals.ts'
import { type Column, DataTable } from './data-table.tsx'
import { LimitBar } from './limit-bar.tsx'
import { Money } from './money.tsx'
import { Panel } from './panel.tsx'
import { QueryView } from './query-view.tsx'

/** The node itself is the parent of the reply. */
export function spendingOptions(nodeId: string) {
  return api.queryOptions('get', '/budgets', { params: { query: { parent: nodeId, limit: 1 } } })
}

interface NodeSpendingProps {
  nodeId: string
  title: string
  /** The text instead of an error if there is no such node. */
  missing?: string
}

/** Shows the spending of a member or a key in each window, and its limits. */
export function NodeSpending({ nodeId, title, missing }: NodeSpendingProps) {
  const query = useQuery(spendingOptions(nodeId))
  return (
    <Panel
      title={title}
      description={
        <>
          The forecast assumes that spending continues at its average rate.{' '}
          <Anchor component={Link} to="/budgets" underline="always">
            All budgets
          </Anchor>
        </>
      }
    >
      {missing !== undefined && isMissing(query) ? (
        <Text size="sm" c="dimmed">
          {missing}
        </Text>
      ) : (
        <QueryView query={query}>{({ parent }) => parent && <Spending node={parent} />}</QueryView>
      )}
    </Panel>
  )
}

function isMissing({ data, error }: { data: unknown; error: unknown }): boolean {
  return data === undefined && error instanceof ApiError && error.status === 404
}

function Spending({ node: { windows, limits, blocks_first } }: { node: BudgetNode }) {
  return (
    <Stack gap="sm">
      <DataTable columns={columns} rows={windows} keyOf={({ interval }) => interval} minWidth={300} />
      <Stack gap="sm" maw={480}>
        {limits.map((limit) => (
          <LimitBar key={`${limit.kind} ${limit.interval} ${limit.guardrail_id ?? ''}`} limit={limit} />
        ))}
      </Stack>
      {blocks_first && (
        <Text size="sm" component="div">
          A request is refused first by {limitNames[blocks_first.kind]}
          {blocks_first.kind !== 'credits' && ` (${textsOf(blocks_first.interval).each})`}:{' '}
          <Money value={blocks_first.remaining} /> left.
        </Text>
      )}
    </Stack>
  )
}

const limitNames: Record<BudgetNode['limits'][number]['kind'], string> = {
  credits: 'the credits of the organization',
  key: 'the limit of the key',
  workspace: 'the budget of its workspace',
  guardrail: 'the budget of a guardrail',
  member: 'the limit of the member',
  limit: 'a limit',
}

const columns: Column<BudgetNode['windows'][number]>[] = [
  { header: 'Window', render: ({ interval }) => textsOf(interval).label },
  { header: 'Spent', isNumber: true, render: ({ spent }) => <Money value={spent} /> },
  { header: 'Held', isNumber: true, render: ({ held }) => <Money value={held} /> },
  { header: 'Forecast', isNumber: true, render: ({ forecast }) => <Money value={forecast} /> },
]
