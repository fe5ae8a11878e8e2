import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { runToEnd } from '../media/video-jobs.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const hostileText = '<img src=x onerror=alert(1)><script>alert(2)</script>'
const phone = { viewport: { width: 390, height: 844 } }

/** Text, because `waitForFunction` evaluates in later frames, which the policy of the console forbids. */
const widthOfVideo = `new Promise((resolve, reject) => {
  const video = document.querySelector('video')
  if (video.readyState > 0) resolve(video.videoWidth)
  video.addEventListener('loadedmetadata', () => resolve(video.videoWidth))
  video.addEventListener('error', () => reject(video.error))
})`

describeInChromium('Presets, routing and files in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const arrive = async (options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(server.own.owner.id)
    return person
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })

  test('a preset gets a second version, which is compared with the first, and the first is made live again', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/presets')
    await page.getByText('No presets yet').waitFor()
    await page.getByRole('button', { name: 'Create a preset' }).click()
    await page.getByLabel('Name').fill('support')
    await page.getByRole('combobox', { name: 'Model' }).fill('sandbox/echo')
    await page.getByLabel('System prompt').fill(`Be polite.\n${hostileText}`)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await heading(page, 'support').waitFor()

    await page.getByRole('button', { name: 'Edit as new version' }).click()
    await page.getByRole('textbox', { name: 'System prompt' }).fill(`Be polite and brief.\n${hostileText}`)
    await page.getByLabel('Temperature').fill('0.5')
    await page.getByLabel('Other fields, as JSON').fill('{"provider": {"sort": "latency"}}')
    await page.getByRole('button', { name: 'Save as new version' }).click()
    await page.getByRole('heading', { name: 'Live version: 2' }).waitFor()

    const fields = page.getByRole('region', { name: 'Compare versions' }).getByRole('row')
    await fields.filter({ hasText: 'provider.sort' }).getByText('latency').waitFor()
    await fields.filter({ hasText: 'temperature' }).getByText('0.5').waitFor()
    const prompt = page.getByRole('region', { name: 'Changes of the system prompt' })
    expect(await prompt.locator('del').allTextContents()).toEqual(['− Be polite.'])
    expect(await prompt.locator('ins').allTextContents()).toEqual(['+ Be polite and brief.'])
    expect(await prompt.textContent()).toContain(hostileText)

    await page.getByRole('button', { name: 'Make live: version 1' }).click()
    await page.getByRole('heading', { name: 'Live version: 1' }).waitFor()
    const { body } = await owner.read('/presets/support')
    expect(body.data.designated_version).toMatchObject({ version: 1, config: { model: 'sandbox/echo' } })
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a change of routing is tried on saved requests before it is made', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/routing')
    await page.getByRole('button', { name: 'Compose' }).click()
    await page.getByLabel('Name').fill(hostileText)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Show where they would go' }).click()
    const result = page.getByRole('region', { name: 'Results' })
    await result.getByText('sandbox/echo at Sandbox').waitFor()

    await page.getByRole('combobox', { name: 'Exclude providers' }).fill('sandbox')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Compare before and after' }).click()
    await result.getByText('1 of 1 would change').waitFor()
    await result.getByRole('button', { name: 'would be refused' }).click()
    const candidate = result.getByRole('row', { name: /Sandbox/ })
    expect(await candidate.getByRole('cell').allTextContents()).toEqual([
      expect.stringContaining('differs'),
      expect.stringContaining('Rank 1'),
      expect.stringContaining('Not used'),
    ])
    await page.reload()
    await page.getByRole('cell', { name: hostileText, exact: true }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a file is uploaded, shown as text whatever it is, and deleted by its name', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/files')
    await page.getByText('No files yet').waitFor()
    await page.getByRole('button', { name: 'Upload' }).click()
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Files', exact: true }).click()
    const svg = `<svg xmlns="http://www.w3.org/2000/svg">${hostileText}</svg>`
    await (await chooser).setFiles({
      name: 'drawing.svg',
      mimeType: 'image/svg+xml',
      buffer: Buffer.from(svg),
    })
    await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click()
    await page.getByRole('button', { name: 'Preview drawing.svg' }).click()
    await page.getByRole('dialog').getByText(svg).waitFor()
    expect(await page.getByRole('dialog').locator('img').count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Delete drawing.svg' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('drawing.svg')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No files yet').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a video job is followed to its end, and its video plays', async () => {
    const owner = await arrive()
    const { page } = owner
    const job = await owner.change('POST', '/videos', {
      model: 'sandbox/filmmaker',
      prompt: 'A fox',
      size: '1280x720',
      duration: 4,
    })
    expect(job.status).toBe(202)
    await owner.open('/files/media')
    await page.getByText('waiting', { exact: true }).waitFor()
    await runToEnd(server, job.body.id)
    await page.getByRole('button', { name: `Watch ${job.body.id}` }).click()
    await page.locator('video').waitFor()
    expect(await page.evaluate(widthOfVideo)).toBe(1280)
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('they fit a phone', async () => {
    const owner = await arrive(phone)
    for (const path of [
      '/presets',
      '/presets/support',
      '/routing',
      '/files',
      '/files/media',
      '/files/containers',
    ]) {
      await owner.open(path)
      await owner.page.getByRole('heading', { level: 1 }).waitFor()
      await owner.page.waitForLoadState('networkidle')
      const width = await owner.page.evaluate('document.documentElement.scrollWidth')
      expect([path, width]).toEqual([path, phone.viewport.width])
    }
    expect(await chromium().takeProblems()).toEqual([])
  })
})
