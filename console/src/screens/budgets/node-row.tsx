import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { mayDo, useSession } from '../../app/session.tsx'
import { BudgetAlertButton } from '../../components/budget-alert-button.tsx'
import {
  type BudgetLimit,
  type BudgetNode,
  type Interval,
  textsOf,
} from '../../components/budget-intervals.ts'
import { HistoryButton } from '../../components/history-button.tsx'
import { LimitBar } from '../../components/limit-bar.tsx'
import { Money } from '../../components/money.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatMoney } from '../../format/money.ts'
import { EditLimits } from './edit-limits.tsx'
import { findNearestLimit, nameLimit } from './nearest-limit.ts'

interface NodeRowProps {
  /** The nodes from the organization to that of the row. */
  path: BudgetNode[]
  interval: Interval
  isOpen?: boolean
  /** Opens or closes the row; absent if there is nothing below it. */
  onToggle?: () => void
}

const childrenOf: Record<BudgetNode['kind'], string> = {
  organization: 'workspaces',
  workspace: 'members',
  member: 'keys',
  key: '',
}

/** The button that opens a row, and the gap beside it. */
const toggleWidth = 30

/** The spending of a node in a window, its limits, and what would refuse a request first. */
export function NodeRow({ path, interval, isOpen = false, onToggle }: NodeRowProps) {
  const node = path.at(-1)
  if (!node) return null
  const window = node.windows.find((one) => one.interval === interval)
  const name = node.name ?? 'Keys that no member created'
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Group
          gap={6}
          wrap="nowrap"
          align="flex-start"
          pl={(path.length - 1) * 14 + (onToggle ? 0 : toggleWidth)}
        >
          {onToggle && (
            <Button
              size="compact-xs"
              variant="default"
              w={24}
              p={0}
              style={{ flexShrink: 0 }}
              aria-expanded={isOpen}
              aria-label={`${childrenOf[node.kind]} of ${name}`}
              onClick={onToggle}
            >
              {isOpen ? '−' : '+'}
            </Button>
          )}
          <div style={{ minWidth: 0 }}>
            <NodeName node={node} name={name} />{' '}
            {node.disabled && (
              <Badge color="gray" variant="light" tt="none">
                disabled
              </Badge>
            )}
            <Text size="xs" c="dimmed">
              {node.kind}
            </Text>
            {window && (
              <Text size="xs" hiddenFrom="md">
                {formatMoney(window.spent)} {textsOf(interval).current}
                {window.held > 0 && `, ${formatMoney(window.held)} held`}
                {window.forecast !== null && `, ${formatMoney(window.forecast)} expected`}
              </Text>
            )}
          </div>
        </Group>
      </Table.Td>
      {[window?.spent, window?.held, window?.forecast].map((amount, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: three columns
        <Table.Td key={index} ta="right" visibleFrom="md">
          <Money value={amount} />
        </Table.Td>
      ))}
      <Table.Td>
        <Limits node={node} />
        <Text size="xs" hiddenFrom="sm" pt={4} component="div">
          Blocks first: <NearestLimit path={path} />
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <NearestLimit path={path} />
      </Table.Td>
    </Table.Tr>
  )
}

function NodeName({ node, name }: { node: BudgetNode; name: string }) {
  const session = useSession()
  const { kind, workspace_id, user_id, key_hash } = node
  if (kind === 'workspace' && workspace_id && mayDo(session, 'workspaces:read')) {
    return (
      <TextLink to="/workspaces/$id" params={{ id: workspace_id }}>
        {name}
      </TextLink>
    )
  }
  if (kind === 'member' && user_id && mayDo(session, 'members:read')) {
    return (
      <TextLink to="/members/$id" params={{ id: user_id }}>
        {name}
      </TextLink>
    )
  }
  if (kind === 'key' && key_hash && mayDo(session, 'keys:read')) {
    return (
      <TextLink to="/keys/$hash" params={{ hash: key_hash }}>
        {name}
      </TextLink>
    )
  }
  return <>{name}</>
}

function Limits({ node }: { node: BudgetNode }) {
  return (
    <Stack gap={6} align="stretch">
      {node.limits.map((limit) => (
        <div key={`${limit.kind} ${limit.interval} ${limit.guardrail_id ?? ''}`}>
          <LimitBar limit={limit} />
          <LimitSource limit={limit} />
        </div>
      ))}
      <Group gap="xs">
        <EditLimits node={node} />
        <NodeLinks node={node} />
      </Group>
    </Stack>
  )
}

/** Leads to who changed the limits, and to a notification about them. */
function NodeLinks({ node: { kind, name, workspace_id, key_hash } }: { node: BudgetNode }) {
  if (kind === 'key' && key_hash) {
    return <HistoryButton search={{ target_id: key_hash }} label={`History of ${name}`} size="compact-xs" />
  }
  if (kind !== 'workspace' || !workspace_id) return null
  return (
    <>
      <HistoryButton
        search={{ target_type: 'budget', workspace_id }}
        label={`History of the budgets of ${name}`}
        size="compact-xs"
      />
      <BudgetAlertButton
        workspaceId={workspace_id}
        label={`Add alert for the budgets of ${name}`}
        size="compact-xs"
      />
    </>
  )
}

/** Links to the place where a limit is set, if that is not here. */
function LimitSource({ limit: { kind, guardrail_id } }: { limit: BudgetLimit }): ReactNode {
  const session = useSession()
  if (kind === 'guardrail' && guardrail_id && mayDo(session, 'guardrails:read')) {
    return (
      <Text size="xs">
        <TextLink to="/guardrails/$id" params={{ id: guardrail_id }}>
          Set by a guardrail
        </TextLink>
      </Text>
    )
  }
  if (kind === 'credits' && mayDo(session, 'credits:read')) {
    return (
      <Text size="xs">
        <TextLink to="/credits">Credits</TextLink>
      </Text>
    )
  }
  return null
}

function NearestLimit({ path }: { path: BudgetNode[] }) {
  const nearest = findNearestLimit(path)
  if (!nearest) return <Text size="xs">Nothing limits it.</Text>
  const { remaining, interval, limit } = nearest
  const color = remaining <= 0 ? 'red' : limit !== null && remaining < limit / 5 ? 'orange' : undefined
  return (
    <Text size="xs" {...(color && { c: color, fw: 600 })}>
      {nameLimit(nearest, path)}
      {nearest.kind !== 'credits' && `, ${textsOf(interval).each}`}: {formatMoney(remaining)} left
    </Text>
  )
}
