import { expect, test } from 'bun:test'
import { listBigFileSettings, transferFile, transferVendorFile } from './support/big-file.ts'

const mebibyte = 1024 * 1024

/** test/long has the same with a file of 1 GiB, which needs no more memory. */
test.each(listBigFileSettings(200))(
  '200 MiB pass through %s storage without being held in memory',
  async (_, settings) => {
    const { uploadedBytes, downloadedBytes, growthBytes } = await transferFile(200, settings)
    expect(uploadedBytes).toBe(200 * mebibyte)
    expect(downloadedBytes).toBe(200 * mebibyte)
    expect(growthBytes).toBeLessThan(170 * mebibyte)
  },
)

test('200 MiB pass to a vendor and back without being held in memory', async () => {
  const { uploadedBytes, downloadedBytes, growthBytes } = await transferVendorFile(200)
  expect(uploadedBytes).toBe(200 * mebibyte)
  expect(downloadedBytes).toBe(200 * mebibyte)
  expect(growthBytes).toBeLessThan(170 * mebibyte)
})
