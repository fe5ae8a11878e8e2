import { Group, Stack } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { emptyImportDraft, type ImportDraft, isComplete, toRequest } from './import-draft.ts'
import { ImportFields } from './import-fields.tsx'
import { ReportPanel } from './report-panel.tsx'

export const screen = createLazyRoute('/import')({ component: ImportScreen })

type Report = Schemas['ImportReport']

function ImportScreen() {
  const queryClient = useQueryClient()
  const [draft, setDraft] = useState(emptyImportDraft)
  const [report, setReport] = useState<Report | null>(null)
  // A plan is of what it was made from.
  const change = (changes: Partial<ImportDraft>) => {
    setDraft((before) => ({ ...before, ...changes }))
    setReport(null)
  }
  const send = async (path: '/imports/plan' | '/imports') => {
    const { data } = await client.POST(path, { body: await toRequest(draft) })
    setReport(data?.data ?? null)
  }
  const apply = async () => {
    await send('/imports')
    setDraft(emptyImportDraft)
    await queryClient.invalidateQueries()
  }
  return (
    <Page
      title="Import"
      docs="migrate"
      description="Providers, models, workspaces, members, keys and limits of another gateway. Clients keep their keys."
    >
      <Stack>
        <Panel title="Source">
          <ImportFields draft={draft} onChange={change} />
          <Group>
            <ActionButton size="sm" disabled={!isComplete(draft)} onAction={() => send('/imports/plan')}>
              Show the plan
            </ActionButton>
            <ActionButton
              size="sm"
              variant="filled"
              disabled={!report?.plan || report.created + report.updated === 0}
              onAction={apply}
            >
              Apply
            </ActionButton>
          </Group>
        </Panel>
        {report && <ReportPanel report={report} />}
      </Stack>
    </Page>
  )
}
