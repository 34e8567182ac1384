"""Open the sample images that `test_vti_file FOLDER` writes with VTK's own reader, and compare.

Usage: check_vti_file.py FOLDER
"""
import math
import sys

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkVersion
from vtkmodules.vtkIOXML import vtkXMLImageDataReader


def read(path):
    reader = vtkXMLImageDataReader()
    assert reader.CanReadFile(path), path
    reader.SetFileName(path)
    reader.Update()
    assert reader.GetErrorCode() == 0, path
    return reader.GetOutput()


def numbers(data, name):
    return vtk_to_numpy(data.GetArray(name)).tolist()


def main():
    folder = sys.argv[1]
    image = read(f"{folder}/points.vti")
    assert image.GetDimensions() == (3, 3, 1) and image.GetOrigin() == (0, -1, 0)
    assert image.GetSpacing() == (1.5, 1, 1)
    points = image.GetPointData()
    truth = [x + 10 * y for y in (-1, 0, 1) for x in (0, 1.5, 3)]
    assert numbers(points, "u_truth") == truth
    assert numbers(points, "u_mean") == [value + 0.25 for value in truth]
    assert numbers(points, "u_error") == [0.25] * 9
    assert numbers(points, "u_std") == list(range(1, 10))
    assert all(math.isnan(value) for value in numbers(points, "v_mean"))
    for i in range(9):  # the place of a number is where its truth says
        x, y, _ = image.GetPoint(i)
        assert truth[i] == x + 10 * y
    image = read(f"{folder}/cells.vti")
    assert image.GetNumberOfCells() == 6 and image.GetBounds()[:4] == (0, 3, -1, 1)
    assert numbers(image.GetCellData(), "u_truth") == [-4.5, -3.5, -2.5, 5.5, 6.5, 7.5]
    print(f"image files: VTK {vtkVersion.GetVTKVersion()} reads them")


main()
