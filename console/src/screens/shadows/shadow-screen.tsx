import { SimpleGrid } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { ComparisonList } from './comparison-list.tsx'
import { ReportView } from './report-view.tsx'

export const screen = createLazyRoute('/shadows/$id')({ component: ShadowScreen })

function ShadowScreen() {
  const { id } = screen.useParams()
  const params = { path: { id } }
  const shadowOptions = api.queryOptions('get', '/shadows/{id}', { params })
  const reportOptions = api.queryOptions('get', '/shadows/{id}/report', { params })
  const shadow = useQuery(shadowOptions)
  const report = useQuery(reportOptions)
  return (
    <Page
      title={shadow.data?.data.name ?? 'Shadow'}
      docs="shadow"
      description="Original and mirrored replies of the last seven days, compared."
      calls={[callOf(shadowOptions), callOf(reportOptions)]}
    >
      <QueryView query={shadow}>
        {() => (
          <SimpleGrid cols={1}>
            <QueryView query={report}>{({ data }) => <ReportView report={data} />}</QueryView>
            <ComparisonList id={id} />
          </SimpleGrid>
        )}
      </QueryView>
    </Page>
  )
}
