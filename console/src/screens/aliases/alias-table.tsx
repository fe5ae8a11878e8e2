import { Stack, Text } from '@mantine/core'
import { mayDoEverywhere, mayDoIn, type Session, useSession } from '../../app/session.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { formatTime } from '../../format/time.ts'
import { AliasActions } from './alias-actions.tsx'
import { type Alias, describeShares, describeSplit } from './shares.ts'

export function AliasTable({ aliases }: { aliases: Alias[] }) {
  const session = useSession()
  const workspaceOf = useWorkspaceNames(aliases.map(({ workspace_id }) => workspace_id))
  return (
    <DataTable
      rows={aliases}
      keyOf={({ id }) => id}
      minWidth={340}
      columns={[
        { header: 'Name', breaksWords: true, maxWidth: 220, render: ({ name }) => name },
        {
          header: 'Models',
          breaksWords: true,
          maxWidth: 420,
          render: (alias) => (alias.targets ? <Targets alias={alias} /> : <Models models={alias.models} />),
        },
        {
          header: 'Workspace',
          breaksWords: true,
          maxWidth: 200,
          visibleFrom: 'sm',
          render: ({ workspace_id }) => (workspace_id === null ? 'All' : workspaceOf(workspace_id)),
        },
        {
          header: 'Expires',
          breaksWords: true,
          maxWidth: 240,
          visibleFrom: 'sm',
          render: ({ expires_at, replacement }) =>
            expires_at === null ? '–' : [formatTime(expires_at), replacement].filter(Boolean).join(' → '),
        },
        aliases.some((alias) => mayChange(session, alias)) && {
          header: 'Actions',
          isHeaderHidden: true,
          render: (alias) => mayChange(session, alias) && <AliasActions alias={alias} />,
        },
      ]}
    />
  )
}

function mayChange(session: Session, { workspace_id }: Alias): boolean {
  return workspace_id === null
    ? mayDoEverywhere(session, 'model_aliases:write')
    : mayDoIn(session, workspace_id, 'model_aliases:write')
}

function Models({ models }: { models: readonly string[] }) {
  return (
    <Stack gap={2}>
      {[...new Set(models)].map((model) => (
        <Text key={model} size="sm">
          {model}
        </Text>
      ))}
    </Stack>
  )
}

function Targets({ alias }: { alias: Alias }) {
  const targets = alias.targets ?? []
  const shares = describeShares(targets.map(({ weight }) => weight))
  return (
    <Stack gap={2}>
      {targets.map(({ model, tag }, at) => (
        <Text key={tag} size="sm">
          {shares[at]} {model}{' '}
          <Text span inherit c="dimmed">
            {tag}
          </Text>
        </Text>
      ))}
      <Text size="xs" c="dimmed">
        {describeSplit(alias)}
      </Text>
    </Stack>
  )
}
