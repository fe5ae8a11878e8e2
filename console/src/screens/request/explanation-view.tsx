import { Badge, List, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client.ts'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { measureNames } from '../../format/measure.ts'
import { formatCount, formatShare } from '../../format/number.ts'
import { describeLine } from './price-lines.ts'

type Explanation = Schemas['RequestExplanation']

export function ExplanationView({ explanation }: { explanation: Explanation }) {
  const { routing, price, nearest_limit, guardrail_hits, dropped } = explanation
  return (
    <>
      {routing && <Routing routing={routing} />}
      {price && <Price price={price} />}
      {price && <NearestLimit limit={nearest_limit} />}
      <Panel title="Guardrails">
        <Hits hits={guardrail_hits} />
      </Panel>
      {dropped.length > 0 && (
        <Panel title="Left out by the translation">
          <Text size="sm">
            The format of the provider cannot carry these fields, so they had no effect: {dropped.join(', ')}.
          </Text>
        </Panel>
      )}
    </>
  )
}

const outcomes = {
  served: { label: 'served the request', color: 'teal' },
  failed: { label: 'failed', color: 'red' },
  not_tried: { label: 'not needed', color: 'gray' },
} as const

const splitUnits = { session: 'session', user: 'end user', request: 'request' } as const

function Routing({
  routing: { candidates, excluded, strategy, params, rule, splits },
}: {
  routing: NonNullable<Explanation['routing']>
}) {
  return (
    <Panel title="Candidates">
      <Text size="sm" c="dimmed" pb="xs">
        In routing order. Strategy: {strategy}.{rule && ` Routing rule: ${rule.name}.`}
        {Object.keys(params).length > 0 && ` Routing options of the request: ${JSON.stringify(params)}.`}
      </Text>
      {splits.map(({ alias, model, tag, split_by }) => (
        <Text key={alias} size="sm" c="dimmed" pb="xs">
          {alias} chose {model} by {splitUnits[split_by]}. Tag of the request: {tag}.
        </Text>
      ))}
      <Table.ScrollContainer minWidth={640}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Rank</Table.Th>
              <Table.Th>Endpoint</Table.Th>
              <Table.Th>Price per million tokens</Table.Th>
              <Table.Th>Result</Table.Th>
              <Table.Th>Why</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {candidates.map((candidate) => (
              <CandidateRow key={`${candidate.rank} ${candidate.tag}`} candidate={candidate} />
            ))}
            {excluded.map((endpoint) => (
              <ExcludedRow
                key={`${endpoint.tag} ${endpoint.reason} ${endpoint.own_key ?? ''}`}
                endpoint={endpoint}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

type RoutingDecision = NonNullable<Explanation['routing']>

function CandidateRow({ candidate }: { candidate: RoutingDecision['candidates'][number] }) {
  const { rank, model, provider, why, reason, share, own_key, price, outcome } = candidate
  return (
    <Table.Tr>
      <Table.Td>{rank}</Table.Td>
      <Table.Td>
        {provider} · {model}
        {own_key && ' · BYOK'}
      </Table.Td>
      <Table.Td>{price ? `$${price.prompt} in, $${price.completion} out` : 'unknown'}</Table.Td>
      <Table.Td>
        <Badge variant="dot" tt="none" miw="max-content" color={outcomes[outcome].color}>
          {outcomes[outcome].label}
        </Badge>
      </Table.Td>
      <Table.Td>
        {reason}{' '}
        <Text span size="xs" c="dimmed">
          {why}
        </Text>
        {share !== undefined && ` First in ${formatShare(share)} of requests.`}
      </Table.Td>
    </Table.Tr>
  )
}

function ExcludedRow({ endpoint }: { endpoint: RoutingDecision['excluded'][number] }) {
  const { model, provider, reason, detail } = endpoint
  return (
    <Table.Tr>
      <Table.Td>–</Table.Td>
      <Table.Td>
        {provider} · {model}
      </Table.Td>
      <Table.Td>–</Table.Td>
      <Table.Td>
        <Badge variant="dot" tt="none" miw="max-content" color="orange">
          excluded
        </Badge>
      </Table.Td>
      <Table.Td>
        {detail}{' '}
        <Text span size="xs" c="dimmed">
          {reason}
        </Text>
      </Table.Td>
    </Table.Tr>
  )
}

function Price({
  price: { hold, lines, charge, released, list_cost },
}: {
  price: NonNullable<Explanation['price']>
}) {
  return (
    <Panel title="Price">
      <Table.ScrollContainer minWidth={420}>
        <Table>
          <Table.Tbody>
            <PriceRow label="Held before the request, for the worst case" amount={<Money value={hold} />} />
            {lines.map(describeLine).map(({ label, terms, amount }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id and never change
              <PriceRow key={index} label={label} terms={terms} amount={amount} />
            ))}
            <PriceRow label="Charged" amount={<Money value={charge} />} isSum />
            <PriceRow label="Released from the hold" amount={<Money value={released} />} />
            {list_cost !== charge && (
              <PriceRow label="At the prices of the endpoint" amount={<Money value={list_cost} />} />
            )}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

interface PriceRowProps {
  label: string
  terms?: string
  amount: ReactNode
  isSum?: boolean
}

function PriceRow({ label, terms = '', amount, isSum = false }: PriceRowProps) {
  return (
    <Table.Tr fw={isSum ? 700 : undefined}>
      <Table.Td>{label}</Table.Td>
      <Table.Td>{terms}</Table.Td>
      <Table.Td ta="right" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {amount}
      </Table.Td>
    </Table.Tr>
  )
}

const limitNames: Record<string, string> = {
  credits: 'balance',
  key: 'limit',
  workspace: 'budget',
  guardrail: 'limit of a guardrail',
  member: 'limit',
}

function NearestLimit({ limit }: { limit: Explanation['nearest_limit'] }) {
  return (
    <Panel title="Nearest limit">
      <Text size="sm" component="div">
        {limit === null ? 'No limit applied to this request.' : <NearestLimitText limit={limit} />}
      </Text>
    </Panel>
  )
}

function NearestLimitText({ limit }: { limit: NonNullable<Explanation['nearest_limit']> }) {
  const { kind, subject, name, measure, interval, remaining, needed, left } = limit
  const noun = measure === 'usd' ? '' : ` ${measureNames[measure].toLowerCase()}`
  const show = (amount: number) => (measure === 'usd' ? <Money value={amount} /> : formatCount(amount))
  return (
    <>
      {kind === 'limit'
        ? `The limit “${name ?? 'deleted'}”`
        : `The ${limitNames[kind] ?? kind} of the ${subject}`}{' '}
      ({interval}
      {limit.limit !== null && <>, {show(limit.limit)}</>}
      {noun}): {show(remaining)} available, {show(needed)} reserved by this request, {show(left)} left.
    </>
  )
}

function Hits({ hits }: { hits: Explanation['guardrail_hits'] }) {
  if (hits.length === 0) return <Text size="sm">No guardrail matched.</Text>
  return (
    <List size="sm">
      {hits.map(({ rule, action, enforced, direction, part, role, count, kinds, layers }) => (
        <List.Item key={`${rule} ${direction} ${part} ${role}`}>
          {rule}: {action}
          {!enforced && ' (dry run, only recorded)'}, {count} {count === 1 ? 'match' : 'matches'} in the{' '}
          {direction === 'input' ? 'prompt' : 'reply'} ({[role, part, ...kinds].filter(Boolean).join(', ')}),
          set by {layers.join(', ')}
        </List.Item>
      ))}
    </List>
  )
}
