import { Button, Group, Skeleton, Table } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { BudgetNode, Interval } from '../../components/budget-intervals.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { NodeRow } from './node-row.tsx'
import { useChildren } from './use-children.ts'

/** The organization with its workspaces. What is below them is read when a row is opened. */
export function BudgetTree({ interval }: { interval: Interval }) {
  const query = useChildren('organization')
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const root = pages[0]?.parent ?? null
        if (root === null && pages[0]?.data.length === 0) {
          return (
            <EmptyState title="No workspaces here">
              You see the budgets of the workspaces that you are a member of.
            </EmptyState>
          )
        }
        return (
          <Table.ScrollContainer minWidth={340}>
            <Table highlightOnHover verticalSpacing="xs">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th ta="right" visibleFrom="md">
                    Spent
                  </Table.Th>
                  <Table.Th ta="right" visibleFrom="md">
                    Held
                  </Table.Th>
                  <Table.Th ta="right" visibleFrom="md">
                    Forecast
                  </Table.Th>
                  <Table.Th>Limits</Table.Th>
                  <Table.Th visibleFrom="sm">Blocks first</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {root && <NodeRow path={[root]} interval={interval} />}
                <Children parent="organization" path={root ? [root] : []} interval={interval} />
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )
      }}
    </QueryView>
  )
}

interface ChildrenProps {
  parent: string
  /** The nodes from the organization to the parent. */
  path: BudgetNode[]
  interval: Interval
}

const columnCount = 6

function Children({ parent, path, interval }: ChildrenProps) {
  const query = useChildren(parent)
  const nodes = query.data?.pages.flatMap(({ data }) => data) ?? []
  return (
    <>
      {query.isPending && (
        <WideRow>
          <Skeleton height={20} aria-label="Loading" />
        </WideRow>
      )}
      {query.error !== null && (
        <WideRow>
          <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
        </WideRow>
      )}
      {nodes.map((node) => (
        <Branch key={node.id} path={[...path, node]} interval={interval} />
      ))}
      {query.isSuccess && nodes.length === 0 && <WideRow depth={path.length}>{emptyTexts(path)}</WideRow>}
      {query.hasNextPage && (
        <WideRow depth={path.length}>
          <Button
            size="compact-xs"
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Show more of {path.at(-1)?.name ?? 'these'}
          </Button>
        </WideRow>
      )}
    </>
  )
}

function emptyTexts(path: BudgetNode[]): string {
  const kind = path.at(-1)?.kind
  if (kind === 'workspace') return 'This workspace has no members and no keys.'
  return kind === 'member' ? 'No keys in this workspace.' : 'No workspaces.'
}

/** A row that can be opened, and what is below it. */
function Branch({ path, interval }: { path: BudgetNode[]; interval: Interval }) {
  const [isOpen, setOpen] = useState(false)
  const node = path.at(-1)
  if (!node) return null
  if (node.kind === 'key') return <NodeRow path={path} interval={interval} />
  return (
    <>
      <NodeRow path={path} interval={interval} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />
      {isOpen && <Children parent={node.id} path={path} interval={interval} />}
    </>
  )
}

function WideRow({ depth = 0, children }: { depth?: number; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Td colSpan={columnCount}>
        <Group pl={depth * 20} fz="sm">
          {children}
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}
