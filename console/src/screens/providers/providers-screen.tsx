import { Checkbox, Group, Table, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { Fragment, useState } from 'react'
import { callOf } from '../../api/call.ts'
import { client } from '../../api/client.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { AddProvider } from '../../components/add-provider/add-provider.tsx'
import {
  CredentialTestButton,
  CredentialTestResult,
  useCredentialTest,
} from '../../components/credential-test.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { HealthBadge, LastError } from '../../components/health-state.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { UptimeStrip } from '../../components/uptime-strip.tsx'
import { byokOptions, healthOptions, type ProviderHealth, spendOf, spendOptions } from './queries.ts'
import { selectProviders } from './select-providers.ts'

export const screen = createLazyRoute('/providers')({ component: ProvidersScreen })

function ProvidersScreen() {
  const session = useSession()
  const { id: workspaceId } = useWorkspace()
  const navigate = useNavigate()
  const filters = screen.useSearch()
  const byok = byokOptions(workspaceId)
  const [spend] = useState(spendOptions)
  const seesSpend = mayDo(session, 'activity:read')
  const health = useQuery(healthOptions)
  const keys = useQuery(byok)
  const spent = useQuery({ ...spend, enabled: seesSpend })
  const counts = countByProvider(keys.data?.data ?? [])
  const rows = spent.data?.data.data ?? []
  return (
    <Page
      title="Providers"
      docs="providers"
      scope="listed"
      description="The services that run models. Requests use the server credential or your BYOK keys."
      calls={[healthOptions, byok, ...(seesSpend ? [spend] : [])].map(callOf)}
      actions={
        (mayDoEverywhere(session, 'catalogue:write') || mayDo(session, 'byok:write')) && (
          <DialogButton label="Add provider" action="add">
            {(close) => (
              <AddProvider
                onClose={close}
                onAdded={(slug) => void navigate({ to: '/providers/$slug', params: { slug } })}
              />
            )}
          </DialogButton>
        )
      }
    >
      <Filters />
      <QueryView query={health}>
        {({ data }) => {
          const shown = selectProviders(data, counts, filters)
          return shown.length === 0 ? (
            <EmptyState title="No providers found">Change the search, or add a provider.</EmptyState>
          ) : (
            <ProviderTable
              providers={shown}
              keyCounts={counts}
              {...(spent.data && { spendOf: (provider: ProviderHealth) => spendOf(rows, provider) })}
            />
          )
        }}
      </QueryView>
    </Page>
  )
}

function countByProvider(keys: { provider: string }[]): Map<string, number> {
  return new Map(
    [...Map.groupBy(keys, ({ provider }) => provider)].map(([provider, { length }]) => [provider, length]),
  )
}

function Filters() {
  const { q = '', all = false } = screen.useSearch()
  const navigate = screen.useNavigate()
  const search = useDebouncedCallback(
    (text: string) =>
      void navigate({ search: { ...(text && { q: text }), ...(all && { all }) }, replace: true }),
    250,
  )
  return (
    <Group align="flex-end">
      <TextInput
        label="Search"
        placeholder="Name"
        defaultValue={q}
        onChange={(event) => search(event.currentTarget.value)}
        style={{ flex: '1 1 200px' }}
        maw={320}
      />
      <Checkbox
        label="Show unconfigured"
        checked={all}
        pb={8}
        onChange={(event) =>
          void navigate({
            search: { ...(q && { q }), ...(event.currentTarget.checked && { all: true as const }) },
            replace: true,
          })
        }
      />
    </Group>
  )
}

interface ProviderTableProps {
  providers: ProviderHealth[]
  keyCounts: Map<string, number>
  spendOf?: (provider: ProviderHealth) => number
}

function ProviderTable({ providers, keyCounts, spendOf }: ProviderTableProps) {
  return (
    <Table.ScrollContainer minWidth={340}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Provider</Table.Th>
            <Table.Th visibleFrom="sm">Credential</Table.Th>
            <Table.Th>Health</Table.Th>
            <Table.Th visibleFrom="sm">Last 24 hours</Table.Th>
            {spendOf && (
              <Table.Th ta="right" visibleFrom="sm">
                Spend, 30 days
              </Table.Th>
            )}
            <Table.Th>
              <VisuallyHidden>Test</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {providers.map((provider) => (
            <ProviderRow
              key={provider.provider}
              health={provider}
              keyCount={keyCounts.get(provider.provider) ?? 0}
              spend={spendOf?.(provider)}
            />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface ProviderRowProps {
  health: ProviderHealth
  keyCount: number
  spend: number | undefined
}

function ProviderRow({ health, keyCount, spend }: ProviderRowProps) {
  const { provider: slug, provider_name: name, state, hours, last_error } = health
  const session = useSession()
  const isInstalled = state !== 'no_credential'
  const canTest = isInstalled && mayDoEverywhere(session, 'catalogue:write')
  const test = useCredentialTest(() =>
    client.POST('/catalogue/providers/{slug}/test', { params: { path: { slug } }, body: {} }),
  )
  return (
    <Fragment>
      <Table.Tr>
        <Table.Td maw={220} style={{ overflowWrap: 'anywhere' }}>
          <TextLink to="/providers/$slug" params={{ slug }}>
            {name}
          </TextLink>
          <Text size="xs" c="dimmed">
            {slug}
          </Text>
        </Table.Td>
        <Table.Td visibleFrom="sm">
          <Text size="sm">
            {health.is_keyless ? 'none needed' : describeCredential(isInstalled, keyCount)}
          </Text>
        </Table.Td>
        <Table.Td maw={280}>
          {isInstalled && <HealthBadge state={state} />}
          {last_error && state !== 'healthy' && (
            <Text size="xs" c="dimmed" component="div">
              <LastError error={last_error} />
            </Text>
          )}
        </Table.Td>
        <Table.Td visibleFrom="sm">
          <UptimeStrip name={name} hours={hours} />
        </Table.Td>
        {spend !== undefined && (
          <Table.Td ta="right" visibleFrom="sm">
            <Money value={spend} />
          </Table.Td>
        )}
        <Table.Td>{canTest && <CredentialTestButton test={test} label={`Test ${name}`} />}</Table.Td>
      </Table.Tr>
      {(test.data || test.error) && (
        <Table.Tr>
          <Table.Td colSpan={6}>
            <CredentialTestResult test={test} />
          </Table.Td>
        </Table.Tr>
      )}
    </Fragment>
  )
}

function describeCredential(isInstalled: boolean, keyCount: number): string {
  const own = keyCount === 1 ? '1 BYOK key' : `${keyCount} BYOK keys`
  if (isInstalled) return keyCount > 0 ? `Server, ${own}` : 'Server'
  return keyCount > 0 ? own : 'none'
}
