import { Group, Select, Stack, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextDiff } from '../../components/text-diff.tsx'
import type { PresetVersion } from './draft.ts'
import { type FieldDifference, listDifferences } from './version-diff.ts'
import { countOptions } from './version-list.tsx'

interface Compared {
  from: number
  to: number
}

interface VersionComparisonProps extends Compared {
  slug: string
  onChange: (compared: Compared) => void
}

function versionOptions(slug: string, version: number) {
  return api.queryOptions('get', '/presets/{slug}/versions/{version}', {
    params: { path: { slug, version: String(version) } },
  })
}

/** Two versions side by side: field by field, and the system prompt line by line. Nothing if there is only one. */
export function VersionComparison({ slug, from, to, onChange }: VersionComparisonProps) {
  const count = useQuery(countOptions(slug)).data?.total_count ?? 0
  const isComparable = count > 1
  const old = useQuery({
    ...versionOptions(slug, from),
    enabled: isComparable,
    placeholderData: keepPreviousData,
  })
  const now = useQuery({
    ...versionOptions(slug, to),
    enabled: isComparable,
    placeholderData: keepPreviousData,
  })
  if (!isComparable) return null
  return (
    <Panel title="Compare versions">
      <Group align="flex-end">
        <VersionSelect
          label="From version"
          count={count}
          value={from}
          onChange={(next) => onChange({ from: next, to })}
        />
        <VersionSelect
          label="To version"
          count={count}
          value={to}
          onChange={(next) => onChange({ from, to: next })}
        />
      </Group>
      <QueryView query={old}>
        {(before) => (
          <QueryView query={now}>
            {(after) => <Differences before={before.data} after={after.data} />}
          </QueryView>
        )}
      </QueryView>
    </Panel>
  )
}

/** More are found by typing their number. */
const shownOptions = 100

interface VersionSelectProps {
  label: string
  count: number
  value: number
  onChange: (version: number) => void
}

function VersionSelect({ label, count, value, onChange }: VersionSelectProps) {
  return (
    <Select
      label={label}
      w={140}
      searchable
      limit={shownOptions}
      allowDeselect={false}
      data={Array.from({ length: count }, (_, index) => String(count - index))}
      value={String(value)}
      onChange={(next) => next && onChange(Number(next))}
    />
  )
}

function Differences({ before, after }: { before: PresetVersion; after: PresetVersion }) {
  const fields = listDifferences(before, after)
  const hasPrompt = before.system_prompt !== after.system_prompt
  if (fields.length === 0 && !hasPrompt) return <Text size="sm">These versions are the same.</Text>
  return (
    <Stack gap="sm">
      {fields.length > 0 && <FieldTable fields={fields} before={before.version} after={after.version} />}
      {hasPrompt && (
        <div>
          <Text size="sm" fw={600} pb={4}>
            System prompt
          </Text>
          <TextDiff
            label="Changes of the system prompt"
            before={before.system_prompt ?? ''}
            after={after.system_prompt ?? ''}
          />
        </div>
      )}
    </Stack>
  )
}

function FieldTable({ fields, before, after }: { fields: FieldDifference[]; before: number; after: number }) {
  const short = fields.filter((field) => !isLong(field))
  return (
    <>
      {short.length > 0 && (
        <Table.ScrollContainer minWidth={300}>
          <Table fz="sm" verticalSpacing={6} aria-label="Fields that differ">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Field</Table.Th>
                <Table.Th>Version {before}</Table.Th>
                <Table.Th>Version {after}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {short.map((field) => (
                <Table.Tr key={field.path} style={{ overflowWrap: 'anywhere' }}>
                  <Table.Td ff="monospace">{field.path}</Table.Td>
                  <Table.Td>{field.before === null ? <Absent /> : <del>{field.before}</del>}</Table.Td>
                  <Table.Td fw={600}>{field.after ?? <Absent />}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {fields.filter(isLong).map(({ path, before: old, after: now }) => (
        <div key={path}>
          <Text size="sm" fw={600} pb={4} ff="monospace">
            {path}
          </Text>
          <TextDiff label={`Changes of ${path}`} before={old ?? ''} after={now ?? ''} />
        </div>
      ))}
    </>
  )
}

function isLong({ before, after }: FieldDifference): boolean {
  return [before, after].some((text) => text?.includes('\n'))
}

function Absent() {
  return (
    <Text span size="sm" c="dimmed">
      not set
    </Text>
  )
}
